/**
 * The disturbance of the runners: one loop for each, which starts it, waits at a fail point or for a random
 * instant, and ends, freezes or cuts it there. What befalls everybody is in `troubles.ts`.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Random } from '../support/random.ts'
import { add, type Blows, countBlows } from './blows.ts'
import type { Armed, Reached } from './load-hook.ts'
import { cut, endSession } from './outages.ts'
import { FAIL_POINTS, GAPS } from './rewrite.ts'
import type { Runner } from './runners.ts'
import type { PostgresServer, SandboxServer } from './servers.ts'
import { troubleAll } from './troubles.ts'
import type { World } from './world.ts'

export interface ChaosOptions {
  readonly world: World
  readonly postgres: PostgresServer
  readonly sandbox: SandboxServer
  /** A new runner process. */
  readonly start: () => Runner
  readonly runners: number
  /** Freezes and cuts count as kills: each is a blow. */
  readonly blows: number
  readonly tasks: number
  readonly deadlineMs: number
  readonly random: Random
  /** Untrue answers of every kind, all the time. */
  readonly isUntrue: boolean
}

/** What every loop of a disturbance has. */
export interface Disturbance extends ChaosOptions {
  readonly struck: Blows
  readonly isOver: () => boolean
  /** How many times longer everything takes than on a machine at rest, by the last start of a runner. */
  pace: number
}

const READY_WITHIN_MS = 60_000
/** A runner on a machine at rest is ready after that time. */
const USUAL_START_MS = 1_500
const SLOWEST_PACE = 8
const POINTS = Object.keys(FAIL_POINTS)
/**
 * Some of those that were struck least: rare places would never have their turn beside those that are passed
 * every moment.
 */
const POINTS_AT_ONCE = 6
const POINT_WITHIN_MS = [1_000, 3_000] as const
const ACTIONS = ['kill', 'kill', 'kill', 'kill', 'freeze', 'cut'] as const
/** Beyond the time of an answer; beyond the quiet time; beyond the heartbeat. */
const FREEZE_MS: readonly (readonly [number, number])[] = [
  [2_700, 4_000],
  [2_700, 4_000],
  [2_700, 4_000],
  [6_500, 8_000],
  [11_500, 13_000],
]
const LOOK_EVERY_MS = 250

/**
 * Disturbs until there were enough blows and tasks or the time is over. Returns the blows and the runners
 * that are left.
 */
export async function disturb(options: ChaosOptions): Promise<{ blows: Blows; runners: Runner[] }> {
  const blows: Blows = new Map()
  let paid = 0
  const isOver = () =>
    (countBlows(blows) >= options.blows && paid >= options.tasks) || performance.now() > options.deadlineMs
  const disturbance: Disturbance = { ...options, struck: blows, isOver, pace: 1 }
  const loops = Array.from({ length: options.runners }, () =>
    disturbRunner(disturbance, options.random.fork()),
  )
  const troubles = troubleAll(disturbance)
  const counting = (async () => {
    while (!isOver()) {
      paid = await options.world.countPaid().catch(() => paid)
      await sleep(LOOK_EVERY_MS)
    }
  })()
  const runners = await Promise.all(loops)
  await Promise.all([troubles, counting])
  return { blows, runners }
}

async function disturbRunner(disturbance: Disturbance, random: Random): Promise<Runner> {
  const { start, struck, isOver } = disturbance
  const begin = () => startTimed(disturbance, start)
  let runner = begin()
  while (!isOver()) {
    if (!runner.isAlive()) runner = begin()
    const isReady = await Promise.race([runner.ready, sleep(READY_WITHIN_MS, false, { ref: false })])
    if (!isReady) {
      add(struck, 'runner that could not start')
      runner.signal('SIGKILL')
      await runner.ended
      continue
    }
    await strike(disturbance, runner, random)
  }
  runner.arm(null)
  return runner.isAlive() ? runner : start()
}

/** On a machine that has much else to do a runner would be struck before it has planned anything. */
function startTimed(disturbance: Disturbance, start: () => Runner): Runner {
  const startedMs = performance.now()
  const runner = start()
  void runner.ready.then(() => {
    const pace = (performance.now() - startedMs) / USUAL_START_MS
    disturbance.pace = Math.min(SLOWEST_PACE, Math.max(1, pace))
  })
  return runner
}

async function strike(disturbance: Disturbance, runner: Runner, random: Random): Promise<void> {
  const { struck, pace } = disturbance
  if (random.chance(0.2)) {
    await sleep(random.between(0, 1_000) * pace)
    return strikeAnywhere(disturbance, runner, random)
  }
  const reaching = runner.reach(random.between(...POINT_WITHIN_MS) * pace)
  runner.arm({
    points: leastStruck(struck, random),
    skip: random.between(0, 1),
    action: random.pick(ACTIONS),
  })
  const reached = await reaching
  if (reached !== null) {
    const isStruck = await follow(disturbance, runner, reached, random).catch(() => true)
    if (isStruck) add(struck, `${reached.action}: ${reached.point}`)
  } else if (runner.isAlive()) {
    runner.arm(null)
    await strikeAnywhere(disturbance, runner, random)
  }
}

function leastStruck(blows: Blows, random: Random): Armed['points'] {
  const times = (point: string) =>
    [...blows].reduce((total, [name, count]) => (name.endsWith(`: ${point}`) ? total + count : total), 0)
  return POINTS.map((point) => ({ point, place: times(point) + random.next() }))
    .toSorted((a, b) => a.place - b.place)
    .slice(0, POINTS_AT_ONCE)
    .map(({ point }) => point)
}

/** @returns whether there was a blow: a cut may find no connection */
async function follow(
  { world }: Disturbance,
  runner: Runner,
  reached: Reached,
  random: Random,
): Promise<boolean> {
  if (reached.action === 'cut' && reached.point in GAPS) return endSession(world, Number(reached.detail))
  if (reached.action === 'cut') return (await cut(world, 0.6)) > 0
  if (reached.action === 'kill') await runner.ended
  else {
    await sleep(random.between(...random.pick(FREEZE_MS)))
    runner.signal('SIGCONT')
  }
  return true
}

async function strikeAnywhere({ world, struck }: Disturbance, runner: Runner, random: Random): Promise<void> {
  const kind = random.pick(['kill', 'kill', 'kill', 'kill', 'freeze', 'cut', 'term'] as const)
  if (!runner.isAlive()) return
  if (kind === 'cut' && (await cut(world, 0.4)) === 0) return
  add(struck, `${kind === 'term' ? 'SIGTERM' : kind}: at a random instant`)
  switch (kind) {
    case 'kill':
      runner.signal('SIGKILL')
      return runner.ended
    case 'freeze':
      runner.signal('SIGSTOP')
      await sleep(random.between(100, 3_500))
      return runner.signal('SIGCONT')
    case 'term':
      runner.signal('SIGTERM')
      await Promise.race([runner.ended, sleep(random.between(100, 3_000), undefined, { ref: false })])
  }
}
