import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { type Command, type CommandContext, innerCommands, type Outcome } from '../../src/cli/command.ts'
import { table } from '../../src/cli/document.ts'
import { type Host, runCommandLine } from '../../src/cli/main.ts'
import { loadCommands } from '../../src/cli/program.ts'
import { ConfigurationError, UnavailableError } from '../../src/errors.ts'
import { collectText } from '../support/command.ts'

const COMMANDS = await loadCommands()
const entry = new URL('../../src/cli/storerank.js', import.meta.url)

/** Runs a command line with commands that only record what they are called with. */
function makeHost(run: (options: unknown, context: CommandContext) => Promise<Outcome> = async () => 0) {
  const stdout = collectText()
  const stderr = collectText()
  const signals = new EventEmitter()
  const calls: [name: string, options: unknown][] = []
  const exits: number[] = []
  const clock = { ms: 0 }
  const host: Host = {
    stdout: stdout.output,
    stderr: stderr.output,
    signals,
    exit: (code) => exits.push(code),
    nowMs: () => clock.ms,
    env: {},
    run: ({ name }, options, context) => {
      calls.push([name, options])
      return run(options, context)
    },
  }
  return { host, calls, exits, clock, signals, stdout: stdout.text, stderr: stderr.text }
}

/** Each command by its words: `alerts`, `alerts test`. */
function listWords(commands: readonly Command[], before: readonly string[] = []): string[][] {
  return commands.flatMap((each) => [
    [...before, each.name],
    ...listWords(innerCommands(each), [...before, each.name]),
  ])
}

test('each command has a place in the help', () => {
  assert.ok(COMMANDS.length > 20)
  for (const { name, group } of COMMANDS) assert.notEqual(group, undefined, name)
})

describe('help', () => {
  for (const args of [['--help'], ...listWords(COMMANDS).map((words) => [...words, '--help'])]) {
    test(`storerank ${args.join(' ')} has an example, exits 0 and runs nothing`, async () => {
      const { host, calls, stdout, stderr } = makeHost()
      assert.equal(await runCommandLine(args, host), 0)
      assert.match(stdout(), /\nExample:\n {2}\$ .*storerank /)
      assert.equal(stderr(), '')
      assert.deepEqual(calls, [])
    })
  }

  test('a call without a command shows the help on stderr and exits 2', async () => {
    const { host, stdout, stderr } = makeHost()
    assert.equal(await runCommandLine([], host), 2)
    assert.equal(stdout(), '')
    assert.match(stderr(), /Usage: storerank/)
  })

  test('--version prints the version of the package and its schema', async () => {
    const { host, stdout } = makeHost()
    assert.equal(await runCommandLine(['--version'], host), 0)
    assert.match(stdout(), /^\d+\.\d+\.\d+ \(schema: \d+ migrations, objects [0-9a-f]{12}\)\n$/)
  })
})

describe('a command gets its options', () => {
  const sandbox = { login: 'sandbox', password: 'sandbox', asSold: false, deviation: [] }
  const uses: [words: string, name: string, options: object][] = [
    ['start', 'start', {}],
    ['run', 'run', { jobs: [], brief: false }],
    ['run track collect --wait 45m', 'run', { jobs: ['track', 'collect'], wait: 2_700_000, brief: false }],
    [
      'forecast --every 6h --depth 100 --priority 2 --tag brand',
      'forecast',
      { every: '6 hours', depth: 100, priority: 2, tag: 'brand', json: false },
    ],
    ['alerts retry ops --days 3', 'retry', { channel: 'ops', days: 3 }],
    ['alerts retry', 'retry', { days: 7 }],
    [
      'import - --replace fit --encoding latin1',
      'import',
      { files: ['-'], trial: false, map: [], replace: 'fit', encoding: 'windows-1252' },
    ],
    [
      'watch yoga --app 1 --app 2 --tag x',
      'watch',
      { keywords: ['yoga'], app: ['1', '2'], tag: ['x'], json: false, csv: false },
    ],
    ['sql --json select', 'sql', { query: 'select', expanded: false, json: true, csv: false }],
    ['sql select -x', 'sql', { query: 'select', expanded: true, json: false, csv: false }],
    ['sandbox', 'sandbox', sandbox],
    ['sandbox --port 0 --ready-ms 5', 'sandbox', { ...sandbox, port: 0, readyMs: 5 }],
    [
      'sandbox --as-sold --deviation paths --deviation no-limits',
      'sandbox',
      { ...sandbox, asSold: true, deviation: ['paths', 'no-limits'] },
    ],
    ['init', 'init', { file: '.env' }],
    ['report --from 2026-01-01 --html f', 'report', { from: '2026-01-01', html: 'f', json: false }],
  ]
  for (const [words, name, options] of uses) {
    test(`storerank ${words}`, async () => {
      const { host, calls } = makeHost()
      assert.equal(await runCommandLine(words.split(' '), host), 0)
      assert.deepEqual(calls, [[name, options]])
    })
  }
})

describe('what a command returns', () => {
  const document = {
    parts: ['One row:', table([{ a: 1 }])],
    data: { a: 1 },
    warnings: ['Look twice.'],
    exitCode: 75,
  }

  test('is printed, its warnings on stderr, and gives the exit code', async () => {
    const { host, stdout, stderr } = makeHost(async () => document)
    assert.equal(await runCommandLine(['plan'], host), 75)
    assert.match(stdout(), /^One row:\n┌─+┐\n│ +a │/)
    assert.equal(stderr(), 'Look twice.\n')
  })

  test('is its data with --json, and its tables with --csv', async () => {
    const { host, stdout } = makeHost(async () => document)
    await runCommandLine(['plan', '--json'], host)
    await runCommandLine(['sql', 'select', '--csv'], host)
    assert.equal(stdout(), '{\n  "a": 1\n}\na\n1\n')
  })
})

describe('an option of a command', () => {
  test('says nothing to a command within it', async () => {
    const { host, calls, stderr } = makeHost()
    assert.equal(await runCommandLine(['alerts', '--json', 'test', 'ops'], host), 2)
    assert.match(stderr(), /^--json is of alerts, and not of alerts test\.\n$/)
    assert.equal(await runCommandLine(['alerts', 'test', 'ops', '--json'], host), 2)
    assert.match(stderr(), /(--json is of alerts, and not of alerts test\.\n){2}/)
    assert.deepEqual(calls, [])
  })
})

describe('the exit code', () => {
  test('is what the command returns', async () => {
    const { host } = makeHost(async () => 75)
    assert.equal(await runCommandLine(['run'], host), 75)
  })

  test('is 2 for a wrong setting, which is told in a sentence', async () => {
    const { host, calls, stderr } = makeHost()
    assert.equal(await runCommandLine(['plan'], { ...host, env: { MAX_USD_PER_DAY: 'five' } }), 2)
    assert.match(stderr(), /^MAX_USD_PER_DAY must be [^\n]*\n$/)
    assert.deepEqual(calls, [])
  })

  const fail = (error: unknown) => makeHost(() => Promise.reject(error))

  test('is 2 for a ConfigurationError of the command', async () => {
    const { host, stderr } = fail(new ConfigurationError('The port is taken.'))
    assert.equal(await runCommandLine(['sandbox'], host), 2)
    assert.equal(stderr(), 'The port is taken.\n')
  })

  test('is 1 for an expected error, which is told by its sentence alone', async () => {
    const { host, stderr } = fail(new UnavailableError('The service does not answer.'))
    assert.equal(await runCommandLine(['run'], host), 1)
    assert.equal(stderr(), 'The service does not answer.\n')
  })

  test('is 1 for an unexpected error, told with where to report it and without its stack', async () => {
    const { host, stderr } = fail(new TypeError('x is not a function'))
    assert.equal(await runCommandLine(['run'], host), 1)
    assert.match(stderr(), /x is not a function\nPlease report this/)
    assert.doesNotMatch(stderr(), /\n\s+at /)
  })

  for (const error of [new UnavailableError('No answer.'), new TypeError('x is not a function')]) {
    test(`comes with the stack of ${error.name} when LOG_LEVEL is debug`, async () => {
      const { host, stderr } = fail(error)
      assert.equal(await runCommandLine(['run'], { ...host, env: { LOG_LEVEL: 'debug' } }), 1)
      assert.match(stderr(), /\n\s+at /)
    })
  }

  test('comes with a message without secrets and escape sequences', async () => {
    const { host, stderr } = fail(new UnavailableError('They said \u001b[2J to postgres://me:hunter2@db.'))
    await runCommandLine(['run'], host)
    assert.equal(stderr(), 'They said ␛[2J to postgres://[secret]@db.\n')
  })
})

test('notes about settings go to the log, as JSON lines in a pipe', async () => {
  const { host, stderr } = makeHost()
  assert.equal(await runCommandLine(['plan'], { ...host, env: { APP_DATA_LOGIN: 'me' } }), 0)
  const { level, note } = JSON.parse(stderr())
  assert.deepEqual([level, note], ['warn', 'APP_DATA_LOGIN has no effect without APP_DATA_URL.'])
})

test('notes about settings are plain sentences on a terminal', async () => {
  const { host } = makeHost()
  const { output, text } = collectText({ isTTY: true, columns: 80 })
  assert.equal(await runCommandLine(['plan'], { ...host, stderr: output, env: { LOG_LEVL: 'debug' } }), 0)
  assert.equal(text(), 'LOG_LEVL is not a setting of storerank and has no effect. Did you mean LOG_LEVEL?\n')
})

describe('signals', () => {
  test('the first aborts the signal of the command, which keeps its exit code', async () => {
    const { host, signals, exits } = makeHost(async (_, { signal }) => {
      signals.emit('SIGTERM', 'SIGTERM')
      return signal.aborted ? 1 : 0
    })
    assert.equal(await runCommandLine(['run'], host), 1)
    assert.deepEqual(exits, [])
    assert.equal(signals.listenerCount('SIGINT') + signals.listenerCount('SIGTERM'), 0)
  })

  for (const [name, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const) {
    test(`a second ${name} exits at once with ${code}`, async () => {
      const { host, signals, exits, clock } = makeHost(async () => {
        signals.emit(name, name)
        clock.ms += 501
        signals.emit(name, name)
        return 0
      })
      await runCommandLine(['run'], host)
      assert.deepEqual(exits, [code])
    })
  }

  test('a Ctrl-C that npm passes on once more counts once', async () => {
    const { host, signals, exits } = makeHost(async () => {
      signals.emit('SIGINT', 'SIGINT')
      signals.emit('SIGINT', 'SIGINT')
      return 0
    })
    await runCommandLine(['run'], host)
    assert.deepEqual(exits, [])
  })

  test('a command that ends with an AbortError says nothing and exits with 128 and the signal', async () => {
    const { host, signals, stderr } = makeHost(async (_, { signal }) => {
      signals.emit('SIGINT', 'SIGINT')
      signal.throwIfAborted()
      return 0
    })
    assert.equal(await runCommandLine(['run'], { ...host, env: { LOG_LEVEL: 'silent' } }), 130)
    assert.equal(stderr(), '')
  })
})

describe('the executable', () => {
  async function execute(command: string, args: readonly string[], cwd: string) {
    const child = spawn(command, args, { cwd, stdio: ['ignore', 'pipe', 'pipe'] })
    const [[code], stdout, stderr] = await Promise.all([
      once(child, 'close'),
      text(child.stdout),
      text(child.stderr),
    ])
    return { code, stdout, stderr }
  }

  test('works through a symbolic link from any folder, without a warning', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'storerank-frame-'))
    try {
      const link = join(folder, 'storerank')
      symlinkSync(entry.pathname, link)
      const { code, stdout, stderr } = await execute(process.execPath, [link, '--help'], folder)
      assert.deepEqual([code, stderr], [0, ''])
      assert.match(stdout, /Usage: storerank/)
    } finally {
      rmSync(folder, { recursive: true })
    }
  })

  test('says in one sentence that a Node is too old, and exits 2', async () => {
    const script = `
      Object.defineProperty(process.versions, 'node', { value: '20.19.0' })
      await import(${JSON.stringify(entry.href)})`
    const { code, stderr } = await execute(process.execPath, ['--input-type=module', '-e', script], '/')
    assert.equal(code, 2)
    assert.match(stderr, /^storerank needs Node 24 or newer, and this is Node 20\.19\.0: run `npm ci` .*\n$/)
  })
})

/** A name server that never answers: its thread waits, as long as a pipe has no writer. */
test('a name server that does not answer keeps no process that has ended', { timeout: 60_000 }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'storerank-names-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const hook = join(folder, 'hook.cjs')
  execFileSync('mkfifo', [join(folder, 'pipe')])
  const opens = `require('node:fs').open(${JSON.stringify(join(folder, 'pipe'))}, () => {})`
  writeFileSync(hook, `require('node:dns').lookup = () => ${opens}`)
  const child = spawn(process.execPath, ['--require', hook, fileURLToPath(entry), 'status', '--check'], {
    env: { DATABASE_URL: 'postgres://me:secret@db.internal/ranks' },
    signal: t.signal,
    killSignal: 'SIGKILL',
  })
  const said = text(child.stderr)
  assert.deepEqual(await once(child, 'exit'), [2, null])
  assert.match(await said, /^unknown: The database did not answer within [6-9] s\.\n$/)
})
