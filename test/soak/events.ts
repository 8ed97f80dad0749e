/**
 * What an operator lives through once in a month: a failover, a copy of production, a full disk, dead
 * runners. Each has to be told by `status --check` within minutes, and passes by itself when its cause is
 * gone.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import postgres from 'postgres'
import { callCommand } from '../support/command.ts'
import type { World } from './life.ts'

/** What was told of an event, and how long it took. */
export interface Told {
  readonly event: string
  readonly kind: string
  readonly afterMs: number
}

const LOOK_EVERY_MS = 500
const GIVE_UP_MS = 6 * 60_000
const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
/** Of `start`, for slots that are due and unplanned: two hours. */
const DEADLINE_HOURS = 2
/** From noon, when a day of the life begins, to the slots of the next one. */
const TO_MIDNIGHT_MS = 12 * HOUR_MS

/** Waits until `status --check` says this, and notes how long that took. */
async function waitUntilTold(world: World, event: string, kind: string, url = world.url): Promise<void> {
  const startedMs = performance.now()
  for (;;) {
    const { stdout } = await check(world, url)
    const afterMs = performance.now() - startedMs
    if (stdout.includes(`${kind}: `)) return void world.told.push({ event, kind, afterMs })
    if (afterMs > GIVE_UP_MS) throw new Error(`${event}: ${kind} was never told, but: ${stdout}`)
    await sleep(LOOK_EVERY_MS, undefined, { signal: world.options.signal })
  }
}

function check({ env }: World, url: string) {
  return callCommand(['status', '--check'], { env: { ...env, DATABASE_URL: url } })
}

/** The address leads to a standby, which is promoted. */
export async function failOver(world: World): Promise<void> {
  await world.server.standBy(() => waitUntilTold(world, 'the failover', 'read_only'))
}

/** A copy of production, made while it works, that runs on the same account. */
export async function copyProduction(world: World): Promise<void> {
  const url = Object.assign(new URL(world.url), { pathname: '/soak_copy' }).href
  const admin = postgres(world.server.url, { max: 1, onnotice: () => {} })
  try {
    await admin`alter database soak allow_connections false`
    await admin`select pg_terminate_backend(pid) from pg_stat_activity where datname = 'soak'`
    await admin`create database soak_copy template soak`
    await admin`alter database soak allow_connections true`
    const ran = await callCommand(['run'], { env: { ...world.env, DATABASE_URL: url } })
    if (ran.code !== 2) throw new Error(`The copy ran, and ended with ${ran.code}: ${ran.stderr}`)
    await waitUntilTold(world, 'the copy', 'restored', url)
  } finally {
    await admin`drop database if exists soak_copy with (force)`
    await admin.end()
  }
}

const WRITTEN = ['task', 'post', 'charge', 'ranking', 'app_snapshot', 'job_run', 'due_slot', 'spend']

/** While posts are on their way each statement that writes fails as it does where the disk is full. */
export async function fillDisk(world: World): Promise<void> {
  const { db } = world
  const isUnderWay = async () =>
    (await db.sql`select from task where attempt > 0 and state = 'posted' limit 1`).count > 0
  while (!(await isUnderWay())) await sleep(LOOK_EVERY_MS, undefined, { signal: world.options.signal })
  await db.sql.unsafe(`
    create function full_disk() returns trigger language plpgsql as $$
    begin
      raise disk_full using message = 'could not extend file: No space left on device';
    end $$`)
  // One table after the other: a runner that waits for one of them may hold another one.
  for (const table of WRITTEN)
    await db.sql.unsafe(`create trigger full_disk before insert or update on ${table}
      for each statement execute function full_disk()`)
  await db.sql`alter role current_user set temp_file_limit = 0`
  await endSessions(world)
  await waitUntilTold(world, 'the full disk', 'no_room')
  for (const table of WRITTEN) await db.sql.unsafe(`drop trigger full_disk on ${table}`)
  await db.sql.unsafe('drop function full_disk; alter role current_user reset temp_file_limit')
  await endSessions(world)
}

/** They take a setting of their role when they begin. */
async function endSessions({ db }: World): Promise<void> {
  await db.sql`
    select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid() and application_name like 'storerank%'`
}

/**
 * Both runners die at noon. Slots begin at midnight; what is told of them goes by the clock of the life,
 * which stands ten minutes before the deadline, and then behind it.
 * @param leap moves that clock
 */
export async function killRunners(world: World, leap: (ms: number) => Promise<void>): Promise<number> {
  await Promise.all([...world.runners.values()].map((runner) => runner.stop('SIGKILL')))
  // The life wakes jobs at odd instants: the last plan is that of the schedule.
  await world.db.sql`delete from job_run where job = 'track' and slot > date_trunc('minute', slot)`
  const early = 10 * MINUTE_MS
  const toDeadlineMs = TO_MIDNIGHT_MS + DEADLINE_HOURS * HOUR_MS
  await leap(toDeadlineMs - early)
  const before = await check(world, world.url)
  if (before.stdout.includes('no_run: ')) throw new Error(`no_run was told too early: ${before.stdout}`)
  await leap(early + MINUTE_MS)
  await waitUntilTold(world, 'the dead runners', 'no_run')
  return toDeadlineMs + MINUTE_MS
}
