/** Channels, rules and events of a project in Tokyo, and the two jobs that gather and deliver them. */
import { randomBytes } from 'node:crypto'
import type { TestContext } from 'node:test'
import { pino } from 'pino'
import type { AlertSettings } from '../../src/alerts/channel.ts'
import { type DeliveryDeps, deliverChannel } from '../../src/alerts/deliver.ts'
import { type AlertDeps, runAlerts } from '../../src/alerts/run.ts'
import { type Database, openDatabase } from '../../src/db/database.ts'
import { sql } from '../../src/db/sql.ts'
import { Secret } from '../../src/secret.ts'
import { createTestDatabase, emptyTables } from './database.ts'
import { NO_ALERT_SETTINGS } from './message.ts'
import { type Receiver, startReceiver } from './receivers.ts'

export const OLD = `whsec_${randomBytes(24).toString('base64')}`
export const NEW = `whsec_${randomBytes(24).toString('base64')}`
export const settings: AlertSettings = {
  ...NO_ALERT_SETTINGS,
  privateHosts: ['127.0.0.1'],
  secrets: new Map([
    ['ALERT_OPS', new Secret(`${NEW} ${OLD}`)],
    ['ALERT_BAD', new Secret('short')],
  ]),
}
const log = pino({ level: 'silent' })
const { signal } = new AbortController()

type Fields = Record<string, unknown>

export interface Deliveries {
  readonly db: Database
  readonly sql: Database['sql']
  /** Leaves the project `fitness` alone. */
  reset(): Promise<void>
  /** @returns its id; by default the webhook `ops` */
  addChannel(fields: Fields): Promise<number>
  /** A channel with a rule whose event, `track`, is about to be delivered. @returns its id */
  addWaiting(channel: Fields, rule?: Fields): Promise<number>
  /** By default `late jobs`, told to `ops`. */
  addRule(fields?: Fields): Promise<void>
  /** An event as an evaluation leaves it. */
  addEvent(subject: string, fields?: Fields): Promise<unknown>
  /** @returns the channels that have something to deliver */
  gather(changes?: Partial<AlertDeps>): Promise<number[]>
  /** @returns how many messages were delivered */
  deliver(channelId: number, changes?: Partial<DeliveryDeps>, until?: AbortSignal): Promise<number>
  /** Works on the database at an instant of business time. */
  moveTo(t: TestContext, instant: string, work: (db: Database) => Promise<void>): Promise<void>
  /** Gathers and delivers at an instant. @returns how many channels had something to deliver */
  runAt(t: TestContext, instant: string, channelId: number): Promise<number>
  /** Of each message: `state attempts problem`. */
  states(): Promise<string[]>
  /** What watch_problem says of channels. */
  problems(): Promise<string[]>
  isDueNow(): Promise<unknown>
  close(): Promise<void>
}

export async function createDeliveries(): Promise<Deliveries> {
  const database = await createTestDatabase()
  const db = openDatabase(database.url)
  const gather: Deliveries['gather'] = async (changes = {}) => {
    const enqueued: number[] = []
    const enqueue: AlertDeps['enqueue'] = async (_tx, ids) => {
      enqueued.push(...ids)
    }
    const budget = { maxDayMicros: 5_000_000, maxMonthMicros: null, maxRunMicros: null }
    await runAlerts({ db, settings, budget, enqueue, signal, ...changes })
    return enqueued
  }
  const moveTo: Deliveries['moveTo'] = async (t, instant, work) => {
    const name = new URL(database.url).pathname.slice(1)
    t.after(() => db.sql.unsafe(`alter database "${name}" reset storerank.now`))
    await db.sql.unsafe(`alter database "${name}" set storerank.now = '${instant}'`)
    const moved = openDatabase(database.url)
    await work(moved)
    await moved.close()
  }
  const world: Deliveries = {
    db,
    sql: db.sql,
    gather,
    async addWaiting(channel, rule) {
      const id = await world.addChannel(channel)
      await world.addRule(rule)
      await world.addEvent('track')
      await gather()
      return id
    },
    async reset() {
      await emptyTables(db.sql)
      await db.sql`insert into project (name, timezone) values ('fitness', 'Asia/Tokyo')`
    },
    async addChannel(fields) {
      const usual = { name: 'ops', kind: 'webhook', secret_variable: 'ALERT_OPS', created_at: '2026-01-01' }
      const [channel] = await db.sql<{ id: number }[]>`
        insert into alert_channel ${sql.row({ ...usual, ...fields })} returning id`
      return channel?.id ?? 0
    },
    async addRule(fields = {}) {
      const usual = { project: 'fitness', name: 'late jobs', kind: 'job_late', threshold: 1, channel: 'ops' }
      await db.sql`insert into alert_rule ${sql.row({ ...usual, created_at: '2026-01-01', ...fields })}`
    },
    addEvent: (subject, fields = {}) => db.sql`
      insert into alert_event (rule_id, subject, slot, kind, severity, detail)
      select id, ${subject}, ${String(fields.slot ?? '2026-03-01')}, kind,
        ${String(fields.severity ?? 'warning')},
        jsonb_build_object('job', ${subject}::text) from alert_rule
          where name = ${String(fields.rule ?? 'late jobs')}`,
    deliver: (channelId, changes = {}, until = signal) =>
      deliverChannel({ db, settings, log, ...changes }, channelId, until),
    moveTo,
    async runAt(t, instant, channelId) {
      let enqueued = 0
      await moveTo(t, instant, async (moved) => {
        enqueued = (await gather({ db: moved })).length
        await deliverChannel({ db: moved, settings, log }, channelId, signal)
      })
      return enqueued
    },
    async states() {
      const rows = await db.sql<{ text: string }[]>`
        select concat_ws(' ', state, attempts, problem) as text from alert_message order by created_at, id`
      return rows.map(({ text }) => text)
    },
    async problems() {
      const rows = await db.sql<{ problem: string }[]>`
        select problem from watch_problem where watch_table = 'alert_channel' order by 1`
      return rows.map(({ problem }) => problem)
    },
    isDueNow: () => db.sql`update alert_message set next_at = clock_timestamp() where state = 'pending'`,
    async close() {
      await db.close()
      await database.drop()
    },
  }
  return world
}

/** A receiver until the test ends. */
export async function receive(t: TestContext, ...args: Parameters<typeof startReceiver>): Promise<Receiver> {
  const receiver = await startReceiver(...args)
  t.after(() => receiver.close())
  return receiver
}
