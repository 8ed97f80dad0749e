/** The heartbeat of `start`: it beats while the process works and can work, and at no other time. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { pino } from 'pino'
import postgres from 'postgres'
import type { CommandContext } from '../../src/cli/command.ts'
import { startMonitor } from '../../src/cli/commands/start.ts'
import { openDatabase } from '../../src/db/database.ts'
import type { JobContext } from '../../src/queue/job.ts'
import { Secret } from '../../src/secret.ts'
import { createTestDatabase, sayStandby } from '../support/database.ts'
import { until } from '../support/embedded.ts'

const BEAT_EVERY_MS = 50

test('start beats while it is well: its schedule runs, plans are made, the database is there', async (t) => {
  let beats = 0
  const server = createServer((_request, response) => {
    beats += 1
    response.end()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const database = await createTestDatabase()
  const admin = postgres(process.env.TEST_DATABASE_URL ?? '', { max: 1, onnotice: () => undefined })
  const db = openDatabase(database.url)
  const heartbeatUrl = new Secret(`http://127.0.0.1:${(server.address() as AddressInfo).port}/id`)
  const command = { config: { operationsListen: null, heartbeatUrl }, log: pino({ level: 'silent' }) }
  let looks = 0
  let sinceLookMs = 0
  const monitor = await startMonitor(
    { db } as JobContext,
    command as unknown as CommandContext,
    () => {
      looks += 1
      return sinceLookMs
    },
    BEAT_EVERY_MS,
  )
  t.after(async () => {
    await monitor.close()
    await db.close()
    await database.drop()
    await admin.end()
    server.closeAllConnections()
    server.close()
  })
  const looksMore = async () => {
    const enough = looks + 10
    await until('it is time for ten heartbeats', async () => looks >= enough)
  }
  const beatsAgain = async () => {
    const enough = beats + 3
    await until('three heartbeats came', async () => beats >= enough)
  }
  // What was on its way still comes.
  const staysSilent = (why: string) =>
    until(`there is no heartbeat: ${why}`, async () => {
      const before = beats
      await looksMore()
      return beats === before
    })
  await beatsAgain()
  sinceLookMs = 600_000
  await staysSilent('the schedule hangs')
  sinceLookMs = 0
  await beatsAgain()
  const name = new URL(database.url).pathname.slice(1)
  await admin`alter database ${admin(name)} allow_connections false`
  await admin`select pg_terminate_backend(pid) from pg_stat_activity where datname = ${name}`
  await staysSilent('the database is away')
  await admin`alter database ${admin(name)} allow_connections true`
  await beatsAgain()
  await database.sql.unsafe(sayStandby(true))
  await staysSilent('the database takes no changes')
  await database.sql.unsafe(sayStandby(false))
  await beatsAgain()
  await database.sql`
    insert into keyword_watch (project, store, keyword, location_code, language_code)
    values ('p', 'ios_store', 'yoga', 2840, 'en')`
  await staysSilent('nothing plans what is due')
})
