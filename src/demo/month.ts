/**
 * Lets a database live through days of business time with the real jobs: planned, posted, delivered and
 * stored over HTTP, as ever. Only `storerank.now` moves; leases, call windows and timeouts go by the clock.
 */
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { findJob } from '../../jobs/index.ts'
import { refreshServiceStatus } from '../account/service-status.ts'
import type { Config } from '../config.ts'
import { createCallGate } from '../db/call-gate.ts'
import { openDatabase, type SqlRunner } from '../db/database.ts'
import { UnavailableError } from '../errors.ts'
import type { Logger } from '../log.ts'
import { readOutstanding } from '../queue/cycle.ts'
import { executeJob, type JobContext } from '../queue/job.ts'
import { openQueue } from '../queue/queue.ts'
import { listen, type Runner, startRunner } from '../queue/runner.ts'
import type { FaultSettingsInput } from '../sandbox/faults.ts'
import { Secret } from '../secret.ts'
import { AppDataClient } from '../service/client.ts'
import type { StoreNames } from '../service/dialect.ts'
import type { StoryDay } from './story.ts'

export interface MonthContext {
  /** A database of its own, migrated; the sessions of each day end with it. */
  readonly url: string
  readonly sandbox: {
    readonly url: string
    readonly login: string
    readonly password: string
    /** What it calls the stores; left out: as the specification does. */
    readonly stores?: StoreNames
  }
  readonly settings: Config
  readonly log: Logger
  readonly signal: AbortSignal
}

const FIRST_JOBS = ['references', 'account', 'housekeeping', 'track']
const DAILY_JOBS = ['housekeeping', 'track', 'reconcile']
/** After the slots of the day have begun in every time zone of the story. */
const HOUR_OF_JOBS = '06:00:00Z'
/** The day is over, and its slots are still the latest. */
const HOUR_OF_REPORT = '20:00:00Z'
const LOOK_EVERY_MS = 15
/** A delivery that did not come is fetched; the ready lists may be asked twenty times a minute. */
const COLLECT_AFTER_MS = 4_000
const DAY_LIMIT_MS = 120_000
const GRACE_MS = 10_000

/**
 * @param onDay called with the index of each day before it begins
 * @throws UnavailableError when a day does not end within two minutes
 */
export async function liveThrough(
  context: MonthContext,
  story: readonly StoryDay[],
  onDay: (index: number) => void,
): Promise<void> {
  for (const [index, day] of story.entries()) {
    context.signal.throwIfAborted()
    onDay(index)
    await moveClocks(context, `${day.day}T${HOUR_OF_JOBS}`, day.trouble)
    await liveOneDay(context, day, index === 0)
  }
  const last = story.at(-1)
  if (last !== undefined) await moveClocks(context, `${last.day}T${HOUR_OF_REPORT}`, {})
}

/** Business time of the sessions to come, and the clock of the sandbox, which stands still. */
async function moveClocks(
  { url, sandbox, signal }: MonthContext,
  instant: string,
  trouble: FaultSettingsInput,
): Promise<void> {
  const db = openDatabase(url, { maxConnections: 1 })
  try {
    await setBusinessTime(db.sql, new URL(url).pathname.slice(1), instant)
  } finally {
    await db.close()
  }
  const { status } = await fetch(new URL('/faults', sandbox.url), {
    method: 'PUT',
    headers: {
      authorization: `Basic ${Buffer.from(`${sandbox.login}:${sandbox.password}`).toString('base64')}`,
      'content-type': 'application/json',
    },
    body: JSON.stringify({ ...trouble, clock: instant }),
    signal,
  })
  if (status !== 200) throw new UnavailableError(`The sandbox refused its clock with HTTP ${status}.`)
}

/**
 * Sessions have the business time of their beginning, so each day has sessions, a queue and a client of its
 * own.
 */
async function liveOneDay(context: MonthContext, day: StoryDay, isFirst: boolean): Promise<void> {
  const stopping = new AbortController()
  const signal = AbortSignal.any([context.signal, stopping.signal])
  const db = openDatabase(context.url)
  const runner = 'demo'
  const gate = createCallGate(db, { ...context.settings, runner }, signal)
  const { url, ...access } = context.sandbox
  // The specification's list of tasks ends at the present; as it is sold, some seconds before.
  const listEnd = access.stores === undefined ? { unlistedMs: 0 } : {}
  const client = new AppDataClient({ baseUrl: url, ...access, ...listEnd, gate })
  const queue = await openQueue(context.url, context.log)
  const secret = randomBytes(24).toString('hex')
  const settings = { ...context.settings, postbackUrl: new Secret(`http://127.0.0.1/${secret}`) }
  const base = { db, client, queue, settings, runner, log: context.log, signal }
  const receiver = await listen(base, { host: '127.0.0.1', port: 0 })
  const postbackUrl = new Secret(`http://127.0.0.1:${receiver?.address.port}/${secret}`)
  const job: JobContext = { ...base, settings: { ...settings, postbackUrl } }
  try {
    await day.act(db)
    const run = (name: string) => executeJob(job, findJob(name))
    if (day.turns) await refreshServiceStatus(job, 0)
    for (const name of isFirst ? FIRST_JOBS : DAILY_JOBS) await run(name)
    await waitUntilDone(job, await startRunner(job, []), run)
    await run('alerts')
  } finally {
    stopping.abort()
    await receiver?.close()
    await queue.stop(GRACE_MS)
    await client.close()
    await db.close()
  }
}

/** Until no task is under way; what an outage holds up stays planned. */
async function waitUntilDone(
  job: JobContext,
  runner: Runner,
  run: (name: string) => Promise<unknown>,
): Promise<void> {
  const startedMs = performance.now()
  let collectAtMs = startedMs + COLLECT_AFTER_MS
  for (;;) {
    if (runner.refusal !== null) throw runner.refusal
    const { planned, posting, posted, outage } = await readOutstanding(job.db, job.settings.reconcileQuietMs)
    const isDone = posting + posted + (outage === null ? planned : 0) === 0
    if (isDone && (await job.queue.countOpen()) === 0) return
    const nowMs = performance.now()
    if (nowMs - startedMs > DAY_LIMIT_MS) {
      throw new UnavailableError('A day of the demo did not end: results that were paid for did not come.')
    }
    if (nowMs >= collectAtMs) {
      await run('collect')
      collectAtMs = nowMs + COLLECT_AFTER_MS
    }
    await sleep(LOOK_EVERY_MS, undefined, { signal: job.signal })
  }
}

/** Sets the business time of a database for every session that begins from now on. */
async function setBusinessTime(db: SqlRunner, database: string, instant: string): Promise<void> {
  const [row] = await db<{ statement: string }[]>`
    select format('alter database %I set storerank.now = %L', ${database}::text,
      ${instant}::timestamptz::text) as statement`
  if (row !== undefined) await db.unsafe(row.statement)
}
