/**
 * `npm run crash`: kills, freezes and cuts runners at work, starts them again until everything is settled, and compares what the
 * sandbox, our money book and our history say. Exit code 0 when they agree and every limit was kept, 1 when not, 2 for a wrong
 * option. `--kills` counts every blow: kills, freezes and cuts. `--guard-off` takes a guard out and must end with 1;
 * `--scenario` runs the same with the guard in place and must end with 0. A seed repeats the choices, not the timing.
 */
import { closeSync, openSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { compareBooks, isClean } from './books.ts'
import { disturb } from './chaos.ts'
import { GUARDS, type GuardName, rewritesOf, STANDARD_SCENARIO } from './guards.ts'
import { createRandom, type Random } from './random.ts'
import { printReport } from './report.ts'
import { checkRewrites } from './rewrite.ts'
import { killRunners, type Runner, startRunnerProcess, stopRunners } from './runners.ts'
import { startPostgres, startSandboxProcess } from './servers.ts'
import { startWire, type Wire } from './wire.ts'
import { createWorld, type World, watch, watchForBudgetRace, watchProjects } from './world.ts'

interface Options {
  readonly kills: number
  readonly runners: number
  readonly keywords: number
  readonly tasks: number
  readonly seed: number
  readonly minutes: number
  readonly guardOff: GuardName | null
  readonly scenario: GuardName | null
  readonly logFile: string | null
}

const QUIET_MS = 6_000
const OVERDUE_MS = 5_000
const READY_MS = 400
const CALLS_PER_MINUTE = 600
/** Without a guard some things never settle, and need not. */
const SETTLE_WITHIN_MS = { guarded: 120_000, unguarded: 30_000 }
const LOOK_EVERY_MS = 300
const MOST_SKEW_HOURS = 5

const HELP = `usage: npm run crash -- [--kills 25] [--runners 4] [--keywords 300] [--seed N] [--minutes N]
                        [--guard-off NAME | --scenario NAME] [--log FILE]
guards: ${Object.keys(GUARDS).join(', ')}\n`

const cleanups: (() => unknown)[] = [killRunners]
for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => void leave(130))
const options = readOptions(process.argv.slice(2))
if (options === null) {
  process.stderr.write(HELP)
  process.exit(2)
}
// Nothing may hang longer than that, whatever it is.
setTimeout(() => void leave(1), (options.minutes + 5) * 60_000).unref()
try {
  await leave((await run(options)) ? 0 : 1)
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.stack : error}\n`)
  await leave(1)
}

async function leave(exitCode: number): Promise<never> {
  for (const cleanup of cleanups.splice(0)) await cleanup()
  process.exit(exitCode)
}

function readOptions(args: string[]): Options | null {
  const number = (text: string | undefined, fallback: number) =>
    text === undefined ? fallback : /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
  try {
    const { values } = parseArgs({
      args,
      options: {
        kills: { type: 'string' },
        runners: { type: 'string' },
        keywords: { type: 'string' },
        tasks: { type: 'string' },
        seed: { type: 'string' },
        minutes: { type: 'string' },
        'guard-off': { type: 'string' },
        scenario: { type: 'string' },
        log: { type: 'string' },
      },
    })
    const guards = [values['guard-off'], values.scenario].filter((name) => name !== undefined)
    const isGuarded = guards.length === 1
    const kills = number(values.kills, isGuarded ? 5 : 25)
    const chosen = {
      kills,
      runners: number(values.runners, 4),
      keywords: number(values.keywords, 300),
      tasks: number(values.tasks, 0),
      seed: number(values.seed, Date.now() % 1_000_000),
      minutes: number(values.minutes, isGuarded ? 1 : 2 + Math.ceil(kills / 10)),
      guardOff: (values['guard-off'] ?? null) as GuardName | null,
      scenario: (values['guard-off'] ?? values.scenario ?? null) as GuardName | null,
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
  const { seed, keywords } = options
  process.stdout.write(
    `seed ${seed}: ${options.kills} kills, ${options.runners} runners, ${keywords} keywords\n`,
  )
  const random = createRandom(seed)
  const stage = await openStage(options, random)
  const { world, wire, scenario } = stage
  const startedMs = performance.now()
  if (scenario.budgetRace) await prepareBudgetRace(world, keywords, () => stage.start('plan'))
  else await watchProjects(world.sql, keywords)
  if (scenario.deep) await world.sql`update keyword_watch set depth = 650`
  const { blows, runners } = await disturb({
    ...stage,
    onWaking: () => {
      wire.troubleShare = scenario.troubleShare
    },
    runners: options.runners,
    blows: options.kills,
    tasks: options.tasks,
    deadlineMs: startedMs + options.minutes * 60_000,
    random: random.fork(),
  })
  const disturbedMs = performance.now() - startedMs
  wire.troubleShare = 0
  const settleMs = SETTLE_WITHIN_MS[options.guardOff === null ? 'guarded' : 'unguarded']
  await settle(world, runners, stage.start, settleMs)
  const settledMs = performance.now() - startedMs - disturbedMs
  const findings = await compareBooks(stage, random.fork())
  printReport({
    seed,
    guardOff: options.guardOff,
    blows,
    troubles: wire.troubles,
    disturbedMs,
    settledMs,
    mostInFlight: wire.mostInFlight,
    findings,
  })
  return isClean(findings)
}

/** Everything that the runners work with, and what starts them. */
async function openStage(options: Options, random: Random) {
  const { seed } = options
  const guard = options.scenario === null ? null : GUARDS[options.scenario]
  const scenario = guard?.scenario ?? STANDARD_SCENARIO
  checkRewrites(rewritesOf(options.scenario, options.guardOff === null))
  const postgres = await startPostgres()
  cleanups.push(postgres.stop)
  const clockOffsetMs = scenario.random ? drawSkew(random) : 0
  const sandbox = await startSandboxProcess({ seed, readyMs: scenario.readyMs ?? READY_MS, clockOffsetMs })
  cleanups.push(sandbox.stop)
  const wire = await startWire(sandbox.url, random.fork())
  cleanups.unshift(wire.close)
  Object.assign(wire, {
    troubleShare: scenario.troubleFromWaking ? 0 : scenario.troubleShare,
    postTroubles: scenario.postTroubles,
    ...(scenario.slowMs === undefined ? {} : { slowMs: scenario.slowMs }),
  })
  const world = await createWorld(postgres.url, options.keywords)
  cleanups.unshift(world.close)
  if (options.guardOff !== null && guard?.sql !== undefined) await world.sql.unsafe(guard.sql)
  const callsPerWindow = scenario.callsPerMinute ?? CALLS_PER_MINUTE
  const env = await makeEnvironment(options, { world, wire, callsPerWindow })
  const logFd = openSync(options.logFile ?? '/dev/null', 'a')
  cleanups.push(() => closeSync(logFd))
  const start = (role?: 'plan' | 'post') => {
    const skew = scenario.random ? { CRASH_CLOCK_AHEAD_MS: String(drawSkew(random)) } : {}
    return startRunnerProcess({
      env: { ...env, ...skew, ...(role === undefined ? {} : { CRASH_ROLE: role }) },
      logFd,
    })
  }
  return { scenario, postgres, sandbox, wire, world, callsPerWindow, start }
}

async function makeEnvironment(
  options: Options,
  {
    world,
    wire,
    callsPerWindow,
  }: { readonly world: World; readonly wire: Wire; readonly callsPerWindow: number },
): Promise<Readonly<Record<string, string>>> {
  const cacheFolder = await mkdtemp(join(tmpdir(), 'storerank-crash-cache-'))
  cleanups.push(() => rm(cacheFolder, { recursive: true, force: true }))
  return {
    NODE_COMPILE_CACHE: cacheFolder,
    DATABASE_URL: world.url,
    APP_DATA_URL: wire.url,
    APP_DATA_LOGIN: 'sandbox',
    APP_DATA_PASSWORD: 'sandbox',
    RECONCILE_QUIET: `${QUIET_MS}ms`,
    OVERDUE_AFTER: `${OVERDUE_MS}ms`,
    CALLS_PER_MINUTE: String(callsPerWindow),
    MAX_USD_PER_DAY: (world.maxDayMicros / 1_000_000).toFixed(6),
    ...(options.guardOff === null ? {} : { CRASH_GUARD_OFF: options.guardOff }),
    ...(options.scenario === null ? {} : { CRASH_SCENARIO: options.scenario }),
  }
}

/** How far a clock is from that of the database: hours, as zones and dead batteries make it. */
function drawSkew(random: Random): number {
  return random.between(-MOST_SKEW_HOURS, MOST_SKEW_HOURS) * 3_600_000
}

/** Nothing is disturbed any more: runners that end are started again until nothing is open, and they have all stopped. */
async function settle(world: World, runners: Runner[], start: () => Runner, withinMs: number): Promise<void> {
  const untilMs = performance.now() + withinMs
  for (;;) {
    for (const [index, runner] of runners.entries()) {
      runner.signal('SIGCONT')
      if (!runner.isAlive()) runners[index] = start()
    }
    await sleep(LOOK_EVERY_MS)
    if ((await countAllOpen(world)) > 0 && performance.now() < untilMs) continue
    await stopRunners(runners)
    // Between the look and the end another plan may have been made.
    if ((await countAllOpen(world)) === 0 || performance.now() > untilMs) return
  }
}

async function countAllOpen(world: World): Promise<number> {
  const { planned, posting, posted, posts } = await world.countOpen()
  return planned + posting + posted + posts
}

/** A day's plan without anybody who posts it, then the next day, with as much again to buy. */
async function prepareBudgetRace(world: World, keywords: number, start: () => Runner): Promise<void> {
  await watchForBudgetRace(world.sql, keywords)
  const planner = start()
  const untilMs = performance.now() + 30_000
  while ((await world.countOpen()).planned < keywords) {
    if (performance.now() > untilMs) throw new Error('The first day was never planned.')
    await sleep(LOOK_EVERY_MS)
  }
  planner.signal('SIGKILL')
  await planner.ended
  await world.jump('30 minutes')
  await watch(world.sql, 'alpha', [keywords + 1, 2 * keywords], { depth: 100, priority: 1, every: '1 day' })
}
