/**
 * One story for each guard: the same few processes, and the one moment that the guard is for. Each ends when
 * nothing is left to be disturbed, and returns the runners that are to settle what is open.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { GuardName } from './guards.ts'
import type { Armed } from './load-hook.ts'
import type { Fault } from './report.ts'
import type { Role, Runner } from './runners.ts'
import type { Wire } from './wire.ts'
import { allowAsMuchAs, type World, watchKeywords } from './world.ts'

export interface ScenarioStage {
  readonly world: World
  readonly wire: Wire
  readonly start: (role?: Role) => Runner
  readonly keywords: number
  readonly depth: number
}

type Play = (stage: ScenarioStage) => Promise<Runner[]>

export interface Scenario {
  readonly play: Play
  readonly keywords: number
  readonly depth?: number
  readonly quietMs?: number
  /** How long the longest task takes at the sandbox. */
  readonly readyMs?: number
  readonly callsPerWindow?: number
  /** The count that is not 0 without the guard. */
  readonly damage: Fault
}

const REACHED_WITHIN_MS = 180_000
const LOOK_EVERY_MS = 20
const STARTS = 3

/** Dies with the answer in its hands; whoever gets its job next finds the post sent. */
const killBeforeSettling: Play = async (stage) => {
  await haveTaken(stage, { points: ['between answer and settling'], skip: 0, action: 'kill' })
  await loseHeartbeats(stage.world)
  const other = await startReady(stage)
  await untilWorked(stage.world, 'post')
  return [other]
}

/**
 * Freezes between claim and send until another one is sending what it held, and wakes. The other's answer
 * comes too late to be heard, so that nothing but its claim says that it has sent.
 */
const freezeBeforeSending: Play = async (stage) => {
  const { world, wire } = stage
  const { runner, postId } = await haveTaken(stage, {
    points: ['between claim and send'],
    skip: 0,
    action: 'freeze',
  })
  const [held] = await world.sql<{ token: string }[]>`select token from post where id = ${postId}`
  await loseHeartbeats(world)
  Object.assign(wire, {
    troubleShare: 1,
    otherShare: 0,
    postTroubles: ['slow answer'],
    slowMs: [2_200, 2_400],
  })
  const claimed = until(world, 'another runner has claimed what the frozen one holds', async () => {
    const [now] = await world.sql<{ token: string | null }[]>`select token from post where id = ${postId}`
    return now !== undefined && now.token !== null && now.token !== held?.token
  })
  const [other] = await Promise.all([startReady(stage), claimed.then(() => runner.signal('SIGCONT'))])
  await until(world, 'the late answer is on its way', async () => (wire.troubles.get('slow answer') ?? 0) > 0)
  wire.troubleShare = 0
  return [runner, other]
}

/**
 * Freezes with the results in its hands until another one has stored them, and wakes while its job is still
 * its own.
 */
const freezeBeforeStoring: Play = async (stage) => {
  const { world } = stage
  const { runner } = await haveTaken(stage, {
    points: ['between fetching and storing'],
    skip: 0,
    action: 'freeze',
  })
  const other = await startReady(stage)
  await until(
    world,
    'another runner has stored the results',
    async () => (await world.countOpen()).posted === 0,
  )
  runner.signal('SIGCONT')
  await untilWorked(world, 'fetch')
  return [runner, other]
}

/** Every POST arrives long after its sender has given it up, and after two scans could have been made. */
const deliverLate: Play = async (stage) => {
  const { world, wire, keywords, depth } = stage
  await watchKeywords(world.sql, keywords, depth)
  Object.assign(wire, {
    troubleShare: 1,
    otherShare: 0,
    postTroubles: ['late delivery'],
    lateMs: [4_500, 5_000],
  })
  const runner = await startReady(stage)
  await until(
    world,
    'every post is on its way',
    async () => (wire.troubles.get('late delivery') ?? 0) * 10 >= keywords,
  )
  wire.troubleShare = 0
  await until(world, 'all of them have arrived', async () => wire.deliveredLate * 10 >= keywords)
  return [runner]
}

/** More work than the window allows, and nobody in its way. */
const workAtFullPace: Play = async (stage) => {
  const { world, keywords, depth } = stage
  await watchKeywords(world.sql, keywords, depth)
  const runners = await Promise.all([startReady(stage), startReady(stage)])
  await until(world, 'everything is bought', async () => (await world.countPaid()) >= keywords)
  return runners
}

/** A plan that nobody posts is twice the budget of the next day, to which each claim brings its own part. */
const meetOnOneDay: Play = async (stage) => {
  const { world, start, keywords, depth } = stage
  await world.jump('4 hours 50 minutes')
  await allowAsMuchAs(world.sql, keywords)
  await watchKeywords(world.sql, keywords, depth)
  const planner = start('plan')
  await until(world, 'everything is planned', async () => (await world.countOpen()).planned >= keywords)
  planner.signal('SIGKILL')
  await planner.ended
  await allowAsMuchAs(world.sql, keywords / 2)
  await world.jump('30 minutes')
  return Promise.all([startReady(stage), startReady(stage), startReady(stage)])
}

/** On a busy machine a runner may give up before it has started, because the service seems silent. */
async function startReady({ start }: ScenarioStage, role?: Role): Promise<Runner> {
  for (let attempt = 1; attempt <= STARTS; attempt += 1) {
    const runner = start(role)
    if (await runner.ready) return runner
  }
  throw new Error(`A runner did not start, ${STARTS} times.`)
}

/**
 * A runner that does nothing but working the queues is struck; whoever planned for it and collected is gone
 * by then.
 */
async function haveTaken(stage: ScenarioStage, armed: Armed): Promise<{ runner: Runner; postId: string }> {
  const { world, start, keywords, depth } = stage
  const runner = await startReady(stage, 'work')
  const reaching = runner.reach(REACHED_WITHIN_MS)
  runner.arm(armed)
  await watchKeywords(world.sql, keywords, depth)
  const planner = start('jobs')
  const reached = await reaching
  if (reached === null) throw new Error(`No runner came to "${armed.points.join()}".`)
  planner.signal('SIGKILL')
  await planner.ended
  if (reached.action === 'kill') await runner.ended
  return { runner, postId: reached.detail ?? '' }
}

/** As if the time had passed in which a living worker would have been heard. */
async function loseHeartbeats({ sql }: World): Promise<void> {
  await sql`update pgboss.job set heartbeat_on = now() - interval '1 hour' where state = 'active'`
}

async function untilWorked(world: World, queue: 'post' | 'fetch'): Promise<void> {
  await until(world, `the queue ${queue} is empty`, async () => {
    const [row] = await world.sql<{ open: number }[]>`
      select count(*) as open from pgboss.job where name = ${queue} and state < 'completed'`
    return row?.open === 0
  })
}

async function until({ sql }: World, what: string, condition: () => Promise<boolean>): Promise<void> {
  const deadlineMs = performance.now() + REACHED_WITHIN_MS
  while (!(await condition())) {
    if (performance.now() > deadlineMs)
      throw new Error(`It never came true that ${what}.\n${await describeWaiting(sql)}`)
    await sleep(LOOK_EVERY_MS)
  }
}

/** Posts, jobs and sessions: who waits for whom. */
async function describeWaiting(sql: World['sql']): Promise<string> {
  const rows = await sql<{ line: string }[]>`
    select to_jsonb(p)::text as line from (select id, state, token from post) p
    union all select to_jsonb(j)::text from (
      select id, name, state, retry_count, start_after, started_on, heartbeat_on, now() from pgboss.job
        where state < 'completed'
    ) j
    union all select to_jsonb(s)::text from (
      select pid, application_name, state, wait_event, now() - state_change as since, pg_blocking_pids(pid),
        left(query, 200) as query
      from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
    ) s`
  return rows.map(({ line }) => line).join('\n')
}

/** One post, so that nothing else brings its tasks to light. */
const ONE_POST = { keywords: 10, quietMs: 3_000 }

export const SCENARIOS: Readonly<Record<GuardName, Scenario>> = {
  outbox: { ...ONE_POST, play: killBeforeSettling, damage: 'chargedTwice' },
  'send-deadline': { ...ONE_POST, play: freezeBeforeSending, damage: 'chargedTwice' },
  'quiet-time': { keywords: 20, play: deliverLate, damage: 'chargedTwice' },
  // No ready list may tell of the tasks before they are posted again.
  fence: { ...ONE_POST, play: freezeBeforeSending, readyMs: 10_000, damage: 'chargedTwice' },
  'call-window': { keywords: 200, play: workAtFullPace, callsPerWindow: 100, damage: 'overCallLimit' },
  'budget-lock': { keywords: 80, play: meetOnOneDay, damage: 'overBudget' },
  // Deeper than the store goes, so that every result brings a refund.
  'collect-once': { keywords: 10, play: freezeBeforeStoring, depth: 650, damage: 'moneyDiffers' },
}
