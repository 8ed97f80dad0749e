/**
 * The disturbance: one loop for each runner, which starts it, waits at a fail point or for a random instant, and ends, freezes
 * or cuts it there; one for the business clock and the people; one for the servers.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Scenario } from './guards.ts'
import type { Reached } from './load-hook.ts'
import type { Random } from './random.ts'
import type { Runner } from './runners.ts'
import type { PostgresServer } from './servers.ts'
import type { World } from './world.ts'

export interface ChaosOptions {
  readonly scenario: Scenario
  readonly world: World
  readonly postgres: PostgresServer
  /** A new runner process. */
  readonly start: (role?: 'post') => Runner
  /** Called when a frozen runner wakes. */
  readonly onWaking: () => void
  readonly runners: number
  /** Freezes and cuts count as kills: each is a blow. */
  readonly blows: number
  readonly deadlineMs: number
  readonly random: Random
}

/** Blows by kind and place, such as `kill: inside settling`. */
export type Blows = Map<string, number>

const READY_WITHIN_MS = 30_000
const POINT_WITHIN_MS = [2_500, 7_000] as const
const RECLAIMED_WITHIN_MS = 25_000
const JUMP_AT_LATEST_MS = 30_000
const LOOK_EVERY_MS = 250

/** Disturbs until there were enough blows or the time is over. Returns them, and the runners that are left. */
export async function disturb(options: ChaosOptions): Promise<{ blows: Blows; runners: Runner[] }> {
  const blows: Blows = new Map()
  const isOver = () => countBlows(blows) >= options.blows || performance.now() > options.deadlineMs
  const loops = Array.from({ length: options.runners }, (_, index) =>
    disturbRunner(optionsOf(options, index), options.random.fork(), blows, isOver),
  )
  const ended = Promise.all(loops)
  const time = passTime(options, options.random.fork(), blows, isOver)
  const servers = options.scenario.random
    ? disturbServers(options, options.random.fork(), blows, isOver)
    : null
  const runners = await ended
  await Promise.all([time, servers])
  return { blows, runners }
}

function optionsOf(options: ChaosOptions, index: number): ChaosOptions {
  const { scenario, start } = options
  if (!scenario.victim) return options
  if (index === 0) return { ...options, start: () => start('post') }
  return { ...options, scenario: { ...scenario, points: [] } }
}

export function countBlows(blows: Blows): number {
  return [...blows].reduce((total, [name, times]) => (isBlow(name) ? total + times : total), 0)
}

/** Jumps of the clock and edits of people are not. */
function isBlow(name: string): boolean {
  return /^(kill|freeze|cut)/.test(name)
}

function add(blows: Blows, name: string): void {
  blows.set(name, (blows.get(name) ?? 0) + 1)
}

async function disturbRunner(
  options: ChaosOptions,
  random: Random,
  blows: Blows,
  isOver: () => boolean,
): Promise<Runner> {
  let runner = options.start()
  while (!isOver()) {
    if (!runner.isAlive()) runner = options.start()
    const isReady = await Promise.race([runner.ready, sleep(READY_WITHIN_MS, false, { ref: false })])
    if (!isReady) {
      add(blows, 'runner that could not start')
      runner.signal('SIGKILL')
      await runner.ended
      continue
    }
    await strike(options, runner, random, blows)
  }
  runner.arm(null)
  return runner.isAlive() ? runner : options.start()
}

async function strike(options: ChaosOptions, runner: Runner, random: Random, blows: Blows): Promise<void> {
  const { scenario } = options
  if (scenario.points.length === 0) return void (await sleep(LOOK_EVERY_MS))
  const point = random.pick(scenario.points)
  const action = random.pick(scenario.actions)
  const skip = random.between(0, 3)
  const withinMs = random.between(...POINT_WITHIN_MS)
  const reaching = runner.reach(withinMs)
  runner.arm({ point, skip, action })
  const reached = await reaching
  if (reached !== null) {
    add(blows, `${action}: ${point}`)
    await follow(options, runner, reached, random).catch(() => {})
  } else if (runner.isAlive() && scenario.random) {
    runner.arm(null)
    await strikeAnywhere(options, runner, random, blows)
  }
}

async function follow(
  options: ChaosOptions,
  runner: Runner,
  reached: Reached,
  random: Random,
): Promise<void> {
  const { freezeMs } = options.scenario
  if (reached.action === 'kill') return runner.ended
  if (reached.action === 'cut') return options.world.cut(0.6)
  if (freezeMs === 'until reclaimed') await waitUntilReclaimed(options.world, reached.detail ?? '')
  else await sleep(random.between(...freezeMs))
  options.onWaking()
  runner.signal('SIGCONT')
}

/** Until another runner is sending what this one held, or long enough. */
async function waitUntilReclaimed({ sql }: World, postId: string): Promise<void> {
  const untilMs = performance.now() + RECLAIMED_WITHIN_MS
  const [held] = await sql<{ token: string | null }[]>`select token from post where id = ${postId}`
  while (performance.now() < untilMs) {
    const [now] = await sql<
      { state: string; token: string | null }[]
    >`select state, token from post where id = ${postId}`
    if (now?.state === 'sending' && now.token !== held?.token) return
    await sleep(20)
  }
}

async function strikeAnywhere(
  { world }: ChaosOptions,
  runner: Runner,
  random: Random,
  blows: Blows,
): Promise<void> {
  const kind = random.pick(['kill', 'kill', 'kill', 'freeze', 'freeze', 'cut', 'term'] as const)
  add(blows, `${kind === 'term' ? 'SIGTERM' : kind}: at a random instant`)
  switch (kind) {
    case 'kill':
      runner.signal('SIGKILL')
      return runner.ended
    case 'freeze':
      runner.signal('SIGSTOP')
      await sleep(random.between(100, 3_500))
      return runner.signal('SIGCONT')
    case 'cut':
      return world.cut(0.4)
    case 'term':
      runner.signal('SIGTERM')
      await Promise.race([runner.ended, sleep(random.between(100, 3_000), undefined, { ref: false })])
  }
}

/** The next slot begins when little is left to do, or after a while all the same. */
async function passTime(
  { world, scenario }: ChaosOptions,
  random: Random,
  blows: Blows,
  isOver: () => boolean,
): Promise<void> {
  if (scenario.budgetRace) return
  let jumpedAtMs = performance.now()
  while (!isOver()) {
    await sleep(LOOK_EVERY_MS)
    try {
      const { planned, posting, posted } = await world.countOpen()
      const isIdle = planned + posting + posted === 0 && performance.now() - jumpedAtMs > 1_500
      if (!isIdle && performance.now() - jumpedAtMs < JUMP_AT_LATEST_MS) continue
      if (random.chance(0.4)) add(blows, `people: ${await world.edit(random)}`)
      await world.jump(`${random.between(1, 3)} hours`)
      add(blows, 'clock: next slots')
    } catch {
      // Postgres is being restarted; this connection was cut off as well.
    }
    jumpedAtMs = performance.now()
  }
}

async function disturbServers(
  { world, postgres }: ChaosOptions,
  random: Random,
  blows: Blows,
  isOver: () => boolean,
): Promise<void> {
  const isOverWithin = async (ms: number) => {
    const untilMs = performance.now() + ms
    while (!isOver() && performance.now() < untilMs) await sleep(LOOK_EVERY_MS)
    return isOver()
  }
  while (!(await isOverWithin(random.between(20_000, 40_000)))) {
    if (random.chance(0.5)) {
      await world.cut(random.next())
      add(blows, 'cut: everybody')
    } else {
      await postgres.restart()
      add(blows, 'cut: Postgres crashed and started again')
    }
  }
}
