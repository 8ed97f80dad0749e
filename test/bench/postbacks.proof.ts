/**
 * Results delivered at full speed, some of them three times, while some are fetched by the collector at the
 * same moment, and some come before their post is settled and again after it: each is stored once, and the
 * books agree.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { handOutOverdue } from '../../src/collect/enqueue-results.ts'
import { fetchResults } from '../../src/collect/fetch.ts'
import { type Database, openDatabase } from '../../src/db/database.ts'
import { createDictionary } from '../../src/history/dictionary.ts'
import { storeFetched } from '../../src/history/store.ts'
import type { FetchItem } from '../../src/ledger/hand-out.ts'
import { settlePost } from '../../src/post/settle.ts'
import { AppDataClient } from '../../src/service/client.ts'
import { createTestDatabase } from '../support/database.ts'
import type { Delivery } from './bodies.ts'
import { deliver, startReceiver } from './delivered.ts'
import { ONE_IN, prepareTasks, startService, UNSETTLED } from './tasks.ts'

const RESULTS = 400
const OVERDUE_AFTER_MS = 3_600_000

const all = Array.from({ length: RESULTS }, (_, index) => index)
const unsettled = all.filter((index) => index % ONE_IN === UNSETTLED)

/** Every result once, a twentieth of them three times: twice at the same moment, and again in the end. */
function orderOf(): number[] {
  const isRepeated = (index: number) => index % ONE_IN === 1
  return [
    ...all.flatMap((index) => (isRepeated(index) ? [index, index] : [index])),
    ...all.filter(isRepeated),
  ]
}

/** As the collector does it beside the receiver; what was delivered meanwhile is fetched in vain. */
async function collectOverdue(db: Database, baseUrl: string): Promise<{ fetched: number; stored: number }> {
  const client = new AppDataClient({ baseUrl, login: 'bench', password: 'bench' })
  const stores = { db, dictionary: createDictionary(db), maxAttempts: 3 }
  let stored = 0
  const handedOut: FetchItem[] = []
  const fetched = await handOutOverdue(db, async (_tx, items) => void handedOut.push(...items))
  for (let from = 0; from < handedOut.length; from += 100) {
    const items = handedOut.slice(from, from + 100)
    const results = await fetchResults(client, items, 8, AbortSignal.timeout(60_000))
    stored += (await storeFetched(stores, results, async () => {})).stored
  }
  await client.close()
  return { fetched, stored }
}

async function settlePosts(db: Database, tasks: readonly Delivery[]): Promise<void> {
  const idOf = new Map(tasks.map(({ id, tag }) => [tag, id]))
  const posts = await db.sql<{ id: string; token: string; tags: string[] }[]>`
    select p.id, p.token, array_agg(k.id || '.1') as tags from post p join task k on k.post_id = p.id
      group by p.id`
  for (const { id: postId, token, tags } of posts) {
    const answers = tags.map((tag) => {
      const serviceId = idOf.get(tag) ?? null
      return { tag, serviceId, statusCode: 20100, message: 'Task Created.', costMicros: 1200 }
    })
    await settlePost(db, { postId, token }, answers, OVERDUE_AFTER_MS, null)
  }
}

async function readBooks(db: Database): Promise<unknown> {
  const [books] = await db.sql`
    select (select count(*)::int from ranking where gap is null and cardinality(app_ids) = 100) as captures,
      (select count(*)::int from ranking) as rows,
      (select count(*)::int from task where state = 'collected') as collected,
      (select count(*)::int from charge where kind = 'charge') as charges,
      (select count(distinct (target_id, slot))::int from charge where kind = 'charge') as paid,
      (select count(*)::int from charge where kind <> 'charge') as others,
      (select count(*)::int from task where state in ('planned', 'posting')) as reserved,
      (select count(*)::int from spend_difference) as miscounted,
      (select count(*)::int from post where state <> 'settled') as unsettled`
  return { ...books }
}

test('results delivered at full speed, some of them again and again, are stored once each', async () => {
  const database = await createTestDatabase()
  const db = openDatabase(database.url)
  try {
    const tasks = await prepareTasks(db, RESULTS, true)
    const service = await startService(tasks)
    const receiver = await startReceiver(db)
    const order = orderOf()
    const [{ statuses }, collected] = await Promise.all([
      deliver(service, receiver, order),
      collectOverdue(db, service.url),
    ])
    // Of an id that nobody has told yet the service is told that it is not ours; it keeps the result.
    assert.deepEqual(statuses, { 200: order.length - unsettled.length, 404: unsettled.length })
    await settlePosts(db, tasks)
    assert.deepEqual((await deliver(service, receiver, unsettled)).statuses, { 200: unsettled.length })
    const { stored } = await receiver.ask<{ stored: number }>('count')
    receiver.end()
    service.end()
    assert.ok(collected.fetched > 0, 'some were fetched at the same time')
    assert.equal(stored + collected.stored, RESULTS)
    const each = { captures: RESULTS, rows: RESULTS, collected: RESULTS, charges: RESULTS, paid: RESULTS }
    assert.deepEqual(await readBooks(db), { ...each, others: 0, reserved: 0, miscounted: 0, unsettled: 0 })
  } finally {
    await db.close()
    await database.drop()
  }
})
