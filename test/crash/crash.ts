/**
 * `npm run crash`: kills, freezes and cuts runners at work, starts them again until everything is settled,
 * and compares what the sandbox, our money book and our history say. `--help` says how.
 */
import { closeSync, openSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { createRandom, type Random } from '../support/random.ts'
import { settingsOf } from '../support/sandbox-process.ts'
import { add } from './blows.ts'
import { compareBooks } from './books.ts'
import { disturb } from './chaos.ts'
import { GUARDS, type GuardName, rewritesOf } from './guards.ts'
import { isClean, printReport } from './report.ts'
import { checkRewrites } from './rewrite.ts'
import { countDeaths, killRunners, type Role, type Runner, startRunnerProcess } from './runners.ts'
import { SCENARIOS } from './scenarios.ts'
import { drawPostbackUrl, startPostgres, startSandboxProcess } from './servers.ts'
import { settle } from './settle.ts'
import { refuseOlderRunner } from './versions.ts'
import { startWire, type Wire } from './wire.ts'
import { createWorld, shortenHeartbeat, type World, watchProjects } from './world.ts'

interface Options {
  readonly kills: number
  readonly runners: number
  readonly keywords: number
  readonly tasks: number
  readonly seed: number
  readonly minutes: number
  readonly guardOff: GuardName | null
  readonly scenario: GuardName | null
  /** The sandbox plays the service as it is sold. */
  readonly asSold: boolean
  /** Untrue answers of every kind, all the time. */
  readonly untrue: boolean
  readonly logFile: string | null
}

const QUIET_MS = 6_000
const OVERDUE_MS = 5_000
const READY_MS = 400
const CALLS_PER_WINDOW = 600
/** Of the requests, at the wire; the sandbox makes trouble of its own. */
const TROUBLE_SHARE = 0.1
/**
 * With the guards: longer than the five minutes after which a result is asked for again whose fetch job has
 * died with all its retries. Without a guard some things never settle, and need not.
 */
const SETTLE_WITHIN_MS = { guarded: 400_000, unguarded: 8_000 }
const MIGRATING = 20
/** How far a clock is from that of the database. */
const MOST_SKEW_MS = 5 * 3_600_000

const HELP = `usage: npm run crash -- [options]

  --kills N         blows to strike: kills, freezes and cuts together (25)
  --tasks N         go on until so many tasks are paid for (0)
  --runners N       runner processes at once, 1 to 4 (4)
  --keywords N      keywords that are watched (300)
  --minutes N       strike no longer than that (2, and one more for every 10 blows)
  --seed N          repeat the choices of an earlier run, not its timing
  --guard-off NAME  the story of a guard without it: must not be clean
  --scenario NAME   the same story with the guard: must be clean
  --as-sold         the service as it is sold, instead of its specification
  --untrue          answers that are not true or whole, of each kind, all the time
  --log FILE        what the runners write

guards: ${Object.keys(GUARDS).join(', ')}
exit codes: 0 clean, 1 not clean, 2 wrong option\n`

const cleanups: (() => unknown)[] = [killRunners]
// More than once: a signal to the group comes from npm as well.
let leaving: Promise<never> | undefined
for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, () => void leave(130))
if (process.argv.includes('--help')) {
  process.stdout.write(HELP)
  process.exit(0)
}
const options = readOptions(process.argv.slice(2))
if (options === null) {
  process.stderr.write(HELP)
  process.exit(2)
}
// Nothing may hang longer than that, whatever it is.
setTimeout(() => void leave(1), (options.minutes + 10) * 60_000).unref()
try {
  await leave((await run(options)) ? 0 : 1)
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.stack : error}\n`)
  await leave(1)
}

/** Once, and to the end: what cannot be closed must not keep the servers from being stopped. */
function leave(exitCode: number): Promise<never> {
  leaving ??= (async () => {
    for (const cleanup of cleanups) {
      try {
        await cleanup()
      } catch {}
    }
    process.exit(exitCode)
  })()
  return leaving
}

function readOptions(args: string[]): Options | null {
  const number = (text: string | undefined, fallback: number) =>
    text === undefined ? fallback : /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
  const text = { type: 'string' } as const
  try {
    const { values } = parseArgs({
      args,
      options: {
        ...{ kills: text, runners: text, keywords: text, tasks: text, seed: text, minutes: text },
        ...{ 'guard-off': text, scenario: text, log: text },
        'as-sold': { type: 'boolean', default: false },
        untrue: { type: 'boolean', default: false },
      },
    })
    const guards = [values['guard-off'], values.scenario].filter((name) => name !== undefined)
    const kills = number(values.kills, 25)
    const chosen = {
      kills,
      runners: number(values.runners, 4),
      keywords: number(values.keywords, 300),
      tasks: number(values.tasks, 0),
      seed: number(values.seed, Date.now() % 1_000_000),
      minutes: number(values.minutes, guards.length === 1 ? 1 : 2 + Math.ceil(kills / 10)),
      guardOff: (values['guard-off'] ?? null) as GuardName | null,
      scenario: (guards[0] ?? null) as GuardName | null,
      asSold: values['as-sold'],
      untrue: values.untrue,
      logFile: values.log ?? null,
    }
    const isKnown = guards.length < 2 && guards.every((name) => Object.hasOwn(GUARDS, name))
    const areNumbers = Object.values(chosen).every((value) => !Number.isNaN(value))
    return isKnown && areNumbers && chosen.runners >= 1 && chosen.runners <= 4 ? chosen : null
  } catch {
    return null
  }
}

/** @returns whether the table is clean */
async function run(options: Options): Promise<boolean> {
  const { seed, guardOff } = options
  checkRewrites(rewritesOf(options.scenario, guardOff === null))
  process.stdout.write(`seed ${seed}: ${describe(options)}\n`)
  const random = createRandom(seed)
  const stage = await openStage(options, random)
  const { world, wire, start } = stage
  const startedMs = performance.now()
  const { blows, runners } =
    options.scenario === null
      ? await disturbAtRandom(options, stage, random.fork())
      : { blows: new Map(), runners: await playScenario(options.scenario, stage) }
  const disturbedMs = performance.now() - startedMs
  wire.troubleShare = 0
  await settle(world, runners, start, SETTLE_WITHIN_MS[guardOff === null ? 'guarded' : 'unguarded'])
  const settledMs = performance.now() - startedMs - disturbedMs
  if (options.scenario === null) {
    await refuseOlderRunner(world.sql, start)
    add(blows, `people: ${MIGRATING} processes migrate at once`)
    add(blows, 'people: an older runner is refused by a newer schema')
  }
  const findings = { ...(await compareBooks(stage, random.fork())), died: countDeaths() }
  const { troubles, mostInFlight } = wire
  printReport({ seed, guardOff, blows, troubles, disturbedMs, settledMs, mostInFlight, findings })
  return isClean(findings)
}

function describe(options: Options): string {
  const { scenario, guardOff, kills, tasks, runners, keywords, asSold, untrue } = options
  const service =
    (asSold ? ', the service as it is sold' : '') + (untrue ? ', untrue answers throughout' : '')
  if (scenario !== null)
    return `scenario ${scenario}, its guard ${guardOff === null ? 'on' : 'off'}${service}`
  return `${kills} blows, ${tasks} tasks, ${runners} runners, ${keywords} keywords${service}`
}

type Stage = Awaited<ReturnType<typeof openStage>>

async function disturbAtRandom(options: Options, stage: Stage, random: Random) {
  await shortenHeartbeat(stage.world.sql)
  await watchProjects(stage.world.sql, options.keywords)
  stage.wire.troubleShare = TROUBLE_SHARE
  return disturb({
    ...stage,
    runners: options.runners,
    blows: options.kills,
    tasks: options.tasks,
    deadlineMs: performance.now() + options.minutes * 60_000,
    random,
    isUntrue: options.untrue,
  })
}

function playScenario(name: GuardName, stage: Stage): Promise<Runner[]> {
  const { play, keywords, depth = 100 } = SCENARIOS[name]
  return play({ ...stage, keywords, depth })
}

/** Everything that the runners work with, and what starts them. */
async function openStage({ seed, keywords, scenario, guardOff, asSold, logFile }: Options, random: Random) {
  const { readyMs = READY_MS, callsPerWindow = CALLS_PER_WINDOW } =
    scenario === null ? {} : SCENARIOS[scenario]
  const drawSkew = () => (scenario === null ? random.between(-MOST_SKEW_MS, MOST_SKEW_MS) : 0)
  await shareCompiled()
  const postgres = await stopAtEnd(startPostgres())
  const sandbox = await stopAtEnd(startSandboxProcess({ seed, readyMs, asSold, clockOffsetMs: drawSkew() }))
  const wire = await startWire(sandbox.url, random.fork())
  cleanups.unshift(wire.close)
  const world = await createWorld(postgres.url, keywords, scenario === null ? MIGRATING : 1)
  cleanups.unshift(world.close)
  process.on('uncaughtException', (error) => {
    if (isLostSocket(error)) return world.renew()
    process.stderr.write(`${error.stack}\n`)
    void leave(1)
  })
  const { sql } = guardOff === null ? {} : GUARDS[guardOff]
  if (sql !== undefined) await world.sql.unsafe(sql)
  const logFd = openSync(logFile ?? '/dev/null', 'a')
  cleanups.push(() => closeSync(logFd))
  const env = {
    ...makeSettings({ world, wire, callsPerWindow, scenario }),
    ...(asSold ? { APP_DATA_STORES: 'apple,google' } : {}),
    NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? '',
    ...(scenario === null ? { POSTBACK_URL: drawPostbackUrl() } : {}),
    ...(guardOff === null ? {} : { CRASH_GUARD_OFF: guardOff }),
    ...(scenario === null ? {} : { CRASH_SCENARIO: scenario }),
  }
  const start = (role?: Role) => {
    const own = {
      TEST_CLOCK_AHEAD_MS: String(drawSkew()),
      ...(role === undefined ? {} : { CRASH_ROLE: role }),
    }
    return startRunnerProcess({ env: { ...env, ...own }, logFd })
  }
  return { postgres, sandbox, wire, world, callsPerWindow, start }
}

/** Also when the end comes while it starts. */
function stopAtEnd<S extends { stop(): Promise<void> }>(starting: Promise<S>): Promise<S> {
  cleanups.push(async () => (await starting).stop())
  return starting
}

/**
 * All processes of a run load the same source, and those of a run of tests what other stories have compiled;
 * Node compares the text.
 */
async function shareCompiled(): Promise<void> {
  if (process.env.NODE_COMPILE_CACHE !== undefined) return
  const folder = await mkdtemp(join(tmpdir(), 'storerank-crash-cache-'))
  cleanups.push(() => rm(folder, { recursive: true, force: true }))
  process.env.NODE_COMPILE_CACHE = folder
}

/**
 * postgres.js throws the first where nobody can catch it, and rejects with the second what nobody waits for,
 * when the server goes away.
 */
function isLostSocket(error: Error): boolean {
  const isOfDriver = (error.stack ?? '').includes('node_modules/postgres/')
  return isOfDriver && (error instanceof TypeError || ('code' in error && error.code === 'CONNECTION_CLOSED'))
}

interface Surroundings {
  readonly world: World
  readonly wire: Wire
  readonly callsPerWindow: number
  readonly scenario: GuardName | null
}

function makeSettings({ world, wire, callsPerWindow, scenario }: Surroundings) {
  const { quietMs = QUIET_MS } = scenario === null ? {} : SCENARIOS[scenario]
  return {
    ...settingsOf(world.url, wire.url),
    RECONCILE_QUIET: `${quietMs}ms`,
    OVERDUE_AFTER: `${OVERDUE_MS}ms`,
    CALLS_PER_MINUTE: String(callsPerWindow),
    MAX_USD_PER_DAY: (world.maxDayMicros / 1_000_000).toFixed(6),
  }
}
