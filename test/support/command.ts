/**
 * The command line as a person meets it: real processes of `storerank` in homes and databases of their own,
 * with an environment that holds nothing but what a test gives (no LANG either).
 */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import type { TestContext } from 'node:test'
import type { Output } from '../../src/cli/document.ts'
import { type Host, runCommandLine } from '../../src/cli/main.ts'
import { isAlive, makeEmptyHome, until } from './embedded.ts'

const PROGRAM = join(import.meta.dirname, '..', '..', 'src/cli/storerank.js')
/** What test processes load first, so that a command has their clock. */
const PRELOADED = process.execArgv.filter((each) => each.startsWith('--import='))

/** Nothing of what people set. */
const ENVIRONMENT = Object.fromEntries(
  ['PATH', 'NODE_COMPILE_CACHE', 'TZ', 'TEST_CLOCK_AHEAD_MS'].flatMap((name) => {
    const value = process.env[name]
    return value === undefined ? [] : [[name, value]]
  }),
)

export interface CommandOptions {
  home?: string
  env?: Record<string, string>
  uid?: number
  gid?: number
}

export interface Ended {
  code: number | null
  stdout: string
  stderr: string
}

export interface RunningCommand {
  child: ChildProcess
  /** What it has written so far. */
  stdout(): string
  stderr(): string
  /** Resolves when stderr has a line with this text; fails when the command ends before. */
  says(text: string): Promise<void>
  ended: Promise<Ended>
}

/** Starts `storerank …` and does not wait for it; it is killed at the latest when the test ends. */
export function startCommand(
  t: TestContext,
  args: string[],
  { home, env, ...account }: CommandOptions = {},
): RunningCommand {
  const child = spawn(process.execPath, [...PRELOADED, PROGRAM, ...args], {
    cwd: '/',
    env: { ...ENVIRONMENT, ...(home === undefined ? {} : { STORERANK_HOME: home }), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    ...account,
  })
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  let hasEnded = false
  const ended = once(child, 'close').then(([code]): Ended => {
    hasEnded = true
    return { code, stdout, stderr }
  })
  t.after(() => child.kill('SIGKILL'))
  const says = (text: string) =>
    until(`the command says ${text}`, () => {
      assert.ok(stderr.includes(text) || !hasEnded, `it ended without saying ${text}:\n${stderr}`)
      return stderr.includes(text)
    })
  return { child, stdout: () => stdout, stderr: () => stderr, says, ended }
}

/**
 * Runs `storerank …` to its end in this process, with everything but the signals and the end of a process: it
 * costs a fraction, and what processes are about has tests of its own.
 * @param main the command line of a copy of the project
 */
export async function callCommand(
  args: string[],
  { home, env, main }: { home?: string; env?: Record<string, string>; main?: URL } = {},
): Promise<Ended> {
  const stdout = collectText()
  const stderr = collectText()
  const host: Host = {
    stdout: stdout.output,
    stderr: stderr.output,
    signals: new EventEmitter(),
    exit: (code) => assert.fail(`the command ended the process with ${code}`),
    nowMs: () => performance.now(),
    env: { ...(home === undefined ? {} : { STORERANK_HOME: home }), ...env },
  }
  const run: typeof runCommandLine =
    main === undefined ? runCommandLine : (await import(main.href)).runCommandLine
  const code = await run(args, host)
  return { code, stdout: stdout.text(), stderr: stderr.text() }
}

/**
 * Commands with the same settings, run in this process. `succeed` gives what is printed, and `refuse` holds
 * the sentence on stderr against a pattern, with exit code 2 unless another is said.
 */
export function commandsWith(env: () => Record<string, string>) {
  const call = (...args: string[]) => callCommand(args, { env: env() })
  return {
    call,
    succeed: async (...args: string[]): Promise<string> => {
      const { code, stdout, stderr } = await call(...args)
      assert.equal(code, 0, stderr)
      return stdout
    },
    refuse: async (args: readonly string[], sentence: RegExp, expected = 2): Promise<void> => {
      const { code, stderr } = await call(...args)
      assert.match(stderr, sentence)
      assert.equal(code, expected)
    },
  }
}

/** What a command writes. By default it is no terminal. */
export function collectText(terminal: Pick<Output, 'isTTY' | 'columns'> = {}): {
  output: Output
  text: () => string
} {
  const parts: string[] = []
  const output = new Writable({
    decodeStrings: false,
    write: (part: string, _encoding, done) => {
      parts.push(part)
      done()
    },
  })
  return {
    output: Object.assign(output, { isTTY: false, columns: 80, ...terminal }),
    text: () => parts.join(''),
  }
}

/** Runs `storerank …` to its end as a process. */
export function runCommand(t: TestContext, args: string[], options: CommandOptions = {}): Promise<Ended> {
  return startCommand(t, args, options).ended
}

/** Rows of `storerank sql … --json`. */
export async function querySql(
  t: TestContext,
  query: string,
  options: CommandOptions,
): Promise<Record<string, unknown>[]> {
  const { code, stdout, stderr } = await runCommand(t, ['sql', query, '--json'], options)
  assert.equal(code, 0, stderr)
  return JSON.parse(stdout)
}

/** A home that is not there yet. Its sandbox and its server end with the test. */
export async function makeCommandHome(t: TestContext, mode?: number): Promise<string> {
  let home = ''
  t.after(async () => {
    for (const { pid } of listSandboxes(home)) {
      if (!isAlive(pid)) continue
      process.kill(pid, 'SIGTERM')
      await until('the sandbox of the home is gone', () => !isAlive(pid))
    }
  })
  home = await makeEmptyHome(t, mode)
  return home
}

/** Where the sandbox of a home listens; undefined when it has none. */
export function readSandbox(home: string): { url: string; pid: number } | undefined {
  return listSandboxes(home)[0]
}

/** One for each of its databases. */
function listSandboxes(home: string): { url: string; pid: number }[] {
  return globSync('sandbox*.json', { cwd: home }).flatMap((file) => {
    try {
      return JSON.parse(readFileSync(join(home, file), 'utf8'))
    } catch {
      return []
    }
  })
}

/** What the service itself says that it was paid, and for how many tasks. */
export async function askService(
  url: string,
  { login, password } = { login: 'sandbox', password: 'sandbox' },
): Promise<{ tasks: number; micros: number }> {
  const headers = {
    authorization: `Basic ${Buffer.from(`${login}:${password}`).toString('base64')}`,
    'content-type': 'application/json',
  }
  const format = (ms: number) => `${new Date(ms).toISOString().slice(0, 19).replace('T', ' ')} +00:00`
  const now = Date.now()
  const body = JSON.stringify([
    { datetime_from: format(now - 3_600_000), datetime_to: format(now), limit: 1000 },
  ])
  const response = await fetch(`${url}/v3/app_data/id_list`, { method: 'POST', headers, body })
  const answer = (await response.json()) as { tasks: { result: { cost: number }[] | null }[] }
  const rows = answer.tasks[0]?.result ?? []
  return { tasks: rows.length, micros: rows.reduce((sum, row) => sum + Math.round(row.cost * 1_000_000), 0) }
}
