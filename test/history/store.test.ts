import assert from 'node:assert/strict'
import { afterEach, describe, test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { compressBody, type Fetched } from '../../src/collect/fetch.ts'
import { openDatabase, type Transaction } from '../../src/db/database.ts'
import { sql } from '../../src/db/sql.ts'
import { LeaseLostError } from '../../src/errors.ts'
import { createDictionary } from '../../src/history/dictionary.ts'
import { type FinishBatch, storeFetched } from '../../src/history/store.ts'
import type { QueueJob } from '../../src/queue/queue.ts'
import { countWaiting } from '../post/posting.ts'
import { lasting } from '../support/lasting.ts'
import { askedEnough, buy, clear, fetchItems, handOut, store, watchKeywords } from '../support/stages.ts'
import { createWorld, until } from '../support/world.ts'

const world = lasting(() => createWorld({ sandbox: { callsPerMinute: 100_000 } }))
afterEach(() => clear(world))

const numbered = (word: string, count: number) =>
  Array.from({ length: count }, (_, index) => `${word} ${index}`)

async function fetchBatch(count: number): Promise<Fetched[]> {
  await watchKeywords(world, numbered('yoga', count), { depth: 3 })
  await buy(world)
  return fetchItems(world, await handOut(world))
}

/** The same results, with one of them changed. */
function bend(batch: readonly Fetched[], index: number, change: object): Fetched[] {
  return batch.map((one, at) => {
    if (at !== index || one.kind !== 'ranking' || one.search === null) return one
    return { ...one, search: { ...one.search, ...change } }
  })
}

async function countRows() {
  const [row] = await world.db.sql`
    select (select count(*) from ranking where gap is null) as captures,
      (select count(*) from ranking) as rows,
      (select count(*) from task where state = 'collected') as collected,
      (select count(*) from charge where kind = 'refund') as refunds`
  return { ...row }
}

test('a link to the store is kept once for a target, as it was said last, and not for a gap', async () => {
  const batch = await fetchBatch(4)
  await askedEnough(world)
  await world.db.sql`update target set check_url = 'https://old.example.com'`
  const told = bend(bend(batch, 0, { checkUrl: null }), 1, { checkUrl: 'https://new.example.com' })
  await store(world, bend(told, 2, { resultsCount: 1e300 }))
  const ids = batch.slice(0, 3).map((one) => one.item.serviceId)
  const rows = await world.db.sql`
    select r.gap, r.check_url from ranking_slot r join task k using (target_id, slot)
    where k.service_id = any(${ids}) order by array_position(${ids}::text[], k.service_id)`
  assert.deepEqual(
    rows.map((row) => ({ ...row })),
    [
      { gap: null, check_url: 'https://old.example.com' },
      { gap: null, check_url: 'https://new.example.com' },
      { gap: 'failed', check_url: null },
    ],
  )
})

describe('a batch that the database refuses', () => {
  test('is halved until each bad result fails alone and is kept; the rest is stored', async () => {
    const batch = await fetchBatch(40)
    await askedEnough(world)
    const bent = bend(bend(batch, 7, { resultsCount: 1e300 }), 30, { checkUrl: 'https://a\0b' })
    const { stored, unreadable } = await store(world, bent)
    assert.deepEqual([stored, unreadable], [38, 2])
    const kept = await world.db.sql`
      select r.service_id, r.problem, r.body_gzip, k.state, h.gap from rejected_result r
        join task k on k.id = r.task_id
      join ranking h on h.target_id = r.target_id and h.slot = r.slot order by r.problem`
    assert.deepEqual(
      kept.map((row) => [row.state, row.gap]),
      [
        ['failed', 'failed'],
        ['failed', 'failed'],
      ],
    )
    assert.match(kept[0]?.problem, /^The database refused the result \(22021\): .*0x00/)
    assert.match(kept[1]?.problem, /^The database refused the result \(22/)
    assert.deepEqual(
      kept.map((row) => row.service_id).sort(),
      [batch[7], batch[30]].map((one) => one?.item.serviceId).sort(),
    )
    const body = JSON.parse(gunzipSync(kept[1]?.body_gzip).toString())
    assert.equal(body.resultsCount, 1e300)
  })

  test('has its dictionary halved as well: an app that cannot be stored fails its own result', async () => {
    const batch = await fetchBatch(5)
    await askedEnough(world)
    const app = { appId: '1\0', title: null, developer: null, icon: null, url: null }
    const { stored, unreadable } = await store(world, bend(batch, 2, { apps: [app] }))
    assert.deepEqual([stored, unreadable], [4, 1])
  })

  test('is halved as well when a result cannot be written down', async () => {
    const batch = await fetchBatch(5)
    await askedEnough(world)
    const { stored, unreadable } = await store(world, bend(batch, 2, { datetime: new Date(Number.NaN) }))
    assert.deepEqual([stored, unreadable], [4, 1])
    const [kept] = await world.db.sql`select problem from rejected_result`
    assert.equal(kept?.problem, 'The result cannot be written down: Invalid time value.')
  })

  test('names the constraint that it broke', async () => {
    const batch = await fetchBatch(3)
    await askedEnough(world)
    await world.db.sql`alter table ranking add constraint not_so_many check (results_count < 1000000)`
    await store(world, bend(batch, 1, { resultsCount: 2_000_000 }))
    const [kept] = await world.db.sql`select path from rejected_result`
    assert.equal(kept?.path, 'not_so_many')
    await world.db.sql`alter table ranking drop constraint not_so_many`
  })

  test('ends its job once, after its last part', async () => {
    const batch = await fetchBatch(5)
    await askedEnough(world)
    const seen: object[] = []
    const deps = { db: world.db, dictionary: createDictionary(world.db), maxAttempts: 3 }
    await storeFetched(deps, bend(batch, 2, { resultsCount: 1e300 }), async (tx) => {
      seen.push({ ...(await tx`select count(*) as captures from ranking where gap is null`)[0] })
    })
    // The first is of the whole batch, which was rolled back before its end was reached.
    assert.deepEqual(seen, [{ captures: 4 }])
  })

  test('is not halved when the server, and not the data, is the trouble', async () => {
    const batch = await fetchBatch(2)
    await askedEnough(world)
    const deps = { db: world.db, dictionary: createDictionary(world.db), maxAttempts: 3 }
    let tries = 0
    const collide = async (tx: Transaction) => {
      tries += 1
      await tx`do $$ begin raise exception using errcode = 'serialization_failure'; end $$`
    }
    await assert.rejects(storeFetched(deps, batch, collide), { code: '40001' })
    assert.equal(tries, 1)
    assert.deepEqual(await countRows(), { captures: 0, rows: 0, collected: 0, refunds: 0 })
    assert.equal((await store(world, batch)).stored, 2)
  })
})

describe('a result', () => {
  test('that comes twice is stored and refunded once', async () => {
    const batch = await fetchBatch(10)
    assert.equal((await store(world, batch)).stored, 10)
    const first = await countRows()
    const [row] = await world.db.sql`select captured_at from ranking order by target_id limit 1`
    assert.equal((await store(world, batch)).stored, 0)
    assert.deepEqual(await countRows(), first)
    const [again] = await world.db.sql`select captured_at from ranking order by target_id limit 1`
    assert.deepEqual(again, row)
  })

  test('that comes twice in one batch is stored once', async () => {
    const batch = await fetchBatch(3)
    assert.equal((await store(world, [...batch, ...batch])).stored, 3)
    assert.equal((await countRows()).captures, 3)
  })

  test('that several runners store at the same moment, in any order, is stored once', async () => {
    const batch = await fetchBatch(100)
    // As with many tasks: looked up one by one, in the order of the batch.
    for (const off of ['enable_seqscan', 'enable_hashjoin', 'enable_mergejoin']) {
      await world.db.sql.unsafe(`alter database ${new URL(world.db.url).pathname.slice(1)} set ${off} = off`)
    }
    const others = [0, 1, 2, 3].map(() => openDatabase(world.db.url, { maxConnections: 2 }))
    const [middle] = await world.db.sql`select id from task order by id offset 50 limit 1`
    const stored = await world.db.begin(async (tx) => {
      await tx`select id from task where id = ${middle?.id} for update`
      const all = [batch, batch.toReversed(), batch, batch.toReversed()].map((each, index) =>
        store(world, each, { db: others[index] ?? world.db }),
      )
      await until('all of them wait', async () => (await countWaiting(world)) === all.length)
      return { all }
    })
    assert.equal(
      (await Promise.all(stored.all)).reduce((sum, one) => sum + one.stored, 0),
      100,
    )
    const { captures, collected } = await countRows()
    assert.deepEqual([captures, collected], [100, 100])
    for (const other of others) await other.close()
  })

  test('that is found unreadable while another runner stores it stays stored', async () => {
    const batch = await fetchBatch(1)
    const [one] = batch
    assert.ok(one !== undefined)
    const bad: Fetched = {
      kind: 'unreadable',
      item: one.item,
      path: 'items',
      problem: 'Bad.',
      bodyGzip: compressBody(null),
    }
    const deps = { db: world.db, dictionary: createDictionary(world.db), maxAttempts: 3 }
    let refusing: Promise<unknown> = Promise.resolve()
    await storeFetched(deps, batch, async () => {
      refusing = store(world, [bad])
      await until('the other one waits', async () => (await countWaiting(world)) === 1)
    })
    await refusing
    assert.deepEqual(await countRows(), { captures: 1, rows: 1, collected: 1, refunds: 0 })
    assert.equal((await world.db.sql`select from rejected_result`).count, 0)
  })

  test('that is put off for no whole number of milliseconds stays open', async () => {
    const [one] = await fetchBatch(1)
    assert.ok(one !== undefined)
    const later: Fetched = { kind: 'later', item: one.item, problem: 'Slower.', pauseMs: 1000.1 }
    assert.deepEqual(await store(world, [later]), {
      stored: 0,
      failed: 0,
      unreadable: 0,
      postedAgain: 0,
      later: 1,
    })
  })

  test('that comes late fills the gap that was left for it', async () => {
    const batch = await fetchBatch(2)
    await world.db.sql`select ensure_history_partitions(slot, slot) from task`
    await world.db.sql`
      insert into ranking (target_id, slot, gap, reason) select target_id, slot, 'missed', 'Too late.'
        from task`
    assert.equal((await store(world, batch)).stored, 2)
    const rows = await world.db
      .sql`select gap, reason, captured_at is not null as captured, depth from ranking`
    assert.deepEqual(
      [...rows],
      [1, 2].map(() => ({ gap: null, reason: null, captured: true, depth: 3 })),
    )
  })

  test('of a month without a partition is stored, and makes it', async () => {
    for (const results of [1, 3]) {
      const batch = await fetchBatch(results)
      const [month] = await world.db.sql`
        select 'ranking_' || to_char(min(slot) at time zone 'UTC', 'YYYYMM') as partition from task`
      await world.db.sql`drop table if exists ${sql.identifier(month?.partition)}`
      const { stored, unreadable } = await store(world, batch)
      assert.deepEqual([stored, unreadable], [results, 0])
      await clear(world)
    }
  })

  test('never replaces another capture, even when its task would let it', async () => {
    const batch = await fetchBatch(1)
    await store(world, batch)
    await world.db.sql`update task set state = 'posted'`
    await store(world, bend(batch, 0, { resultsCount: 7, items: [] }))
    const [row] = await world.db.sql`select results_count, cardinality(app_ids) as apps from ranking`
    assert.notEqual(row?.results_count, 7)
    assert.equal(row?.apps, 3)
  })

  test('that gives money back is stored while its project is being renamed', async () => {
    await watchKeywords(world, ['yoga'], { depth: 650 })
    await buy(world)
    const batch = await fetchItems(world, await handOut(world))
    const { stored } = await world.db.begin(async (tx) => {
      await tx`update project set name = 'renamed'`
      return store(world, batch)
    })
    assert.equal(stored, 1)
    assert.deepEqual(await countRows(), { captures: 1, rows: 1, collected: 1, refunds: 1 })
  })

  test('of a task that has failed stays out of the history', async () => {
    const batch = await fetchBatch(1)
    await world.db.sql`update task set state = 'failed', problem = 'It had expired.'`
    assert.equal((await store(world, batch)).stored, 0)
    const [row] = await world.db.sql`select gap from ranking`
    assert.equal(row?.gap, 'failed')
  })

  test('tells when its target was measured, so that others have their turn first', async () => {
    await store(world, await fetchBatch(1))
    const [target] = await world.db.sql`select captured_at is not null as captured from target`
    assert.equal(target?.captured, true)
  })
})

describe('the job that brought a batch', () => {
  /** Three results as a worker of the queue gets them. `end` completes the job like any runner. */
  async function asJob(
    work: (fetched: Fetched[], job: QueueJob<'fetch'>, end: FinishBatch) => Promise<void>,
  ): Promise<void> {
    await watchKeywords(world, numbered('yoga', 3), { depth: 3 })
    await buy(world)
    const items = await handOut(world)
    const { context, stop } = await world.openRunner()
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    await world.db.begin((tx) => context.queue.enqueueFetch(tx, items))
    await context.queue.work('fetch', 1, async (job) => {
      const fetched = await fetchItems(world, job.data.items)
      await work(fetched, job, (tx) => context.queue.completeFetch(tx, job)).then(resolve, reject)
    })
    // Else its worker would take the next test's job.
    await promise.finally(stop)
  }

  test('ends with the data, in one transaction', async () => {
    await asJob(async (fetched, job, end) => {
      const deps = { db: world.db, dictionary: createDictionary(world.db), maxAttempts: 3 }
      await storeFetched(deps, fetched, end)
      const [ended] = await world.db.sql`select state::text from pgboss.job where id = ${job.id}`
      assert.equal(ended?.state, 'completed')
    })
    assert.equal((await countRows()).captures, 3)
  })

  test('that was taken over rolls the batch back, and who has it now stores everything once', async () => {
    await asJob(async (fetched, job, end) => {
      await world.db.sql`update pgboss.job set retry_count = retry_count + 1 where id = ${job.id}`
      const deps = { db: world.db, dictionary: createDictionary(world.db), maxAttempts: 3 }
      await assert.rejects(storeFetched(deps, fetched, end), LeaseLostError)
      assert.deepEqual(await countRows(), { captures: 0, rows: 0, collected: 0, refunds: 0 })
      assert.equal((await store(world, fetched)).stored, 3)
    })
    assert.equal((await countRows()).captures, 3)
  })
})

test('a batch locks its tasks in the order of their ids, so that two batches cannot deadlock', async () => {
  const batch = await fetchBatch(2)
  const [first, last] = await world.db.sql<{ id: string; serviceId: string }[]>`
    select id, service_id as "serviceId" from task order by id`
  const unusable = batch.map((fetched): Fetched => {
    if (fetched.item.serviceId !== last?.serviceId) return fetched
    const { item } = fetched
    return { kind: 'unreadable', item, path: 'items', problem: 'It is odd.', bodyGzip: compressBody(null) }
  })
  let storing: Promise<unknown> = Promise.resolve()
  await world.db.begin(async (tx) => {
    await tx`select from task where id = ${first?.id ?? ''} for update`
    storing = store(world, unusable)
    await until('the batch waits for the first task', async () => (await countWaiting(world)) > 0)
    await tx`select from task where id = ${last?.id ?? ''} for update nowait`
  })
  await storing
})
