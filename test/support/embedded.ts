/**
 * Homes, users and deaths for the tests of the embedded server.
 */

import assert from 'node:assert/strict'
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { chmod, cp, mkdir, mkdtemp, readFile, realpath, rm, rmdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { createInterface } from 'node:readline'
import { after, type TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import postgres from 'postgres'
import { attachEmbedded } from '../../src/embedded/attach.ts'
import { findBinaries } from '../../src/embedded/binaries.ts'
import { type Cluster, openCluster } from '../../src/embedded/cluster.ts'

const PROJECT = join(import.meta.dirname, '..', '..')
export const AS_ROOT = process.geteuid?.() === 0

/** Made once for all files of this process, and copied, which takes a tenth of the time. */
let pattern: Promise<Cluster> | undefined

async function makePattern(): Promise<Cluster> {
  const folder = await mkdtemp(join(tmpdir(), 'storerank-embedded-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  await chmod(folder, 0o755)
  return openCluster(join(folder, 'home'))
}

/** A home whose server has been made and never started. */
export async function makeHome(t: TestContext): Promise<string> {
  const home = await makeEmptyHome(t)
  pattern ??= makePattern()
  const { folder } = await pattern
  await mkdir(home)
  assert.equal(spawnSync('cp', ['-Rp', folder, join(home, 'postgres')]).status, 0)
  return home
}

/** A home to be made, in a folder of the mode; it goes with its server after the test. */
export async function makeEmptyHome(t: TestContext, mode = 0o755): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'storerank-embedded-'))
  await chmod(folder, mode)
  const home = join(folder, 'home')
  t.after(async () => {
    const cluster = await realpath(join(home, 'postgres')).catch(() => undefined)
    if (cluster !== undefined) {
      const running = await serverPid(join(cluster, 'data')).catch(() => undefined)
      if (running !== undefined && isAlive(running)) process.kill(running, 'SIGKILL')
      await rm(cluster, { recursive: true, force: true, maxRetries: 5 })
      await rmdir(dirname(cluster)).catch(() => 'others still live there')
    }
    await rm(folder, { recursive: true, force: true, maxRetries: 5 })
  })
  return home
}

export async function attach(t: TestContext, home: string) {
  const server = await attachEmbedded({ home, database: 'storerank' })
  t.after(() => server.dispose())
  return server
}

/**
 * Asks one row. Of a server that crashes meanwhile the driver waits for ever: for an end without a time
 * limit, and for the types that it looks for by itself.
 */
export async function query(url: string, text: string): Promise<Record<string, unknown>> {
  const sql = postgres(url, { max: 1, fetch_types: false, onnotice: () => undefined })
  try {
    const [row] = await sql.unsafe(text)
    return row ?? {}
  } finally {
    await sql.end({ timeout: 1 })
  }
}

export async function answers(url: string): Promise<boolean> {
  return query(url, 'select 1').then(
    () => true,
    () => false,
  )
}

/** Generous, because a busy machine is no reason to fail. */
const UNTIL_MS = 120_000

export async function until(what: string, condition: () => Promise<boolean> | boolean): Promise<void> {
  const deadline = performance.now() + UNTIL_MS
  while (!(await condition())) {
    assert.ok(performance.now() < deadline, `waited two minutes until ${what}`)
    await delay(20)
  }
}

/**
 * A dead process that nobody has collected (state Z) is none: in a container there may be nobody who does.
 */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return !existsSync(`/proc/${pid}/stat`) || !readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ')
  } catch {
    return false
  }
}

export async function serverPid(dataDirectory: string): Promise<number> {
  return Number.parseInt(await readFile(join(dataDirectory, 'postmaster.pid'), 'utf8'), 10)
}

export async function killServer(home: string, url: string): Promise<void> {
  process.kill(await serverPid(join(home, 'postgres', 'data')), 'SIGKILL')
  await until('the killed server is gone', async () => !(await answers(url)))
}

/** Another process, attached. */
export interface User {
  url: string
  started: boolean
  child: ChildProcess
  leave(): Promise<void>
}

/** Another process that attaches, and leaves when its standard input ends, or when a test fails. */
export async function startUser(
  home: string,
  {
    project = PROJECT,
    ...options
  }: { project?: string; env?: NodeJS.ProcessEnv; uid?: number; gid?: number } = {},
): Promise<User> {
  const module = pathToFileURL(join(project, 'src/embedded/attach.ts'))
  const script = `
    import { attachEmbedded } from '${module}'
    process.on('SIGINT', () => undefined)
    const server = await attachEmbedded({ home: ${JSON.stringify(home)}, database: 'storerank' })
    console.log(JSON.stringify({ url: server.url, started: server.started }))
    process.stdin.resume().on('end', () => server.dispose())`
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script], {
    cwd: '/',
    detached: true,
    stdio: ['pipe', 'pipe', 'inherit'],
    ...options,
  })
  after(() => child.kill('SIGKILL'))
  const ended = once(child, 'exit')
  const [line] = await Promise.race([once(createInterface(child.stdout), 'line'), ended])
  assert.equal(typeof line, 'string', `the other process attached and did not end with ${line}`)
  const { url, started } = JSON.parse(line)
  return {
    url,
    started,
    child,
    async leave() {
      child.stdin.end()
      const [code] = await ended
      assert.equal(code, 0)
    },
  }
}

/** The account of an ordinary user, as far as we can become one. */
export const nobody = (() => {
  if (!AS_ROOT) return undefined
  const [uid, gid] = ['-u', '-g'].map((flag) => Number(spawnSync('id', [flag, 'nobody']).stdout) >>> 0)
  if (uid === undefined || gid === undefined) return undefined
  const readsProject = spawnSync('test', ['-r', join(PROJECT, 'package.json')], { uid, gid }).status === 0
  return { uid, gid, readsProject }
})()

/**
 * What the embedded server needs of the project, really copied: a link would lead out of the closed folder.
 */
export async function copyProject(project: string): Promise<void> {
  const { initdb } = await findBinaries()
  const platformPackage = relative(PROJECT, join(dirname(initdb), '..', '..'))
  for (const part of [
    'package.json',
    'src',
    'node_modules/postgres',
    'node_modules/postgres-array',
    'node_modules/fastest-levenshtein',
    platformPackage,
  ]) {
    await cp(join(PROJECT, part), join(project, part), { recursive: true, verbatimSymlinks: true })
  }
}
