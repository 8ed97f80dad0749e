import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { compressBody } from '../../src/collect/fetch.ts'
import {
  deferResults,
  failResults,
  giveUpResults,
  postAgain,
  rejectResults,
} from '../../src/ledger/task-failures.ts'
import { lasting } from '../support/lasting.ts'
import { endAttemptPauses, readReservations } from '../support/ledger.ts'
import { buy, clear, collect, watchKeywords } from '../support/stages.ts'
import { createWorld, until } from '../support/world.ts'

const world = lasting(createWorld)
let serviceId: string
beforeEach(async () => {
  await watchKeywords(world, ['yoga'], { project: 'one' })
  await watchKeywords(world, ['yoga'], { project: 'two' })
  await buy(world)
  serviceId = await readServiceId()
})
afterEach(() => clear(world))

async function readServiceId(): Promise<string> {
  const [task] = await world.db.sql<{ id: string }[]>`select service_id as id from task`
  return task?.id ?? ''
}

async function readTask() {
  const [task] = await world.db.sql`select state, attempt, problem, service_id from task`
  return { ...task }
}

const again = (maxAttempts: number, id = serviceId) =>
  world.db.begin((tx) =>
    postAgain(tx, [{ serviceId: id, statusCode: 40101, message: 'It failed.' }], maxAttempts),
  )

const readGap = async () => {
  const [row] = await world.db.sql`select gap, reason from ranking`
  return { ...row }
}

describe('a task that the store failed', () => {
  test('reserves its money anew, in the shares of those who paid before', async () => {
    assert.equal(await again(3), 1)
    const open = await readReservations(world.db.sql)
    assert.deepEqual(
      open.map(({ project, attempt, micros }) => ({ project, attempt, micros })),
      [
        { project: 'one', attempt: 2, micros: 600 },
        { project: 'two', attempt: 2, micros: 600 },
      ],
    )
    assert.deepEqual(await readTask(), {
      state: 'planned',
      attempt: 2,
      problem: '40101: It failed.',
      service_id: null,
    })
  })

  test('is posted again once, however often its failure is told', async () => {
    const told = await Promise.all([again(3), again(3)])
    assert.deepEqual(told.sort(), [0, 1])
    assert.equal(await again(3), 0)
    assert.equal((await readTask()).attempt, 2)
    await endAttemptPauses(world.db.sql)
    await buy(world)
    assert.equal(await again(3), 0)
    assert.equal((await readTask()).state, 'posted')
  })

  test('is not taken back when it was posted again while its batch was waited for', async () => {
    await watchKeywords(world, ['pilates'], { project: 'one' })
    await buy(world)
    const tasks = await world.db.sql<{ id: string; serviceId: string }[]>`
      select k.id, k.service_id as "serviceId" from task k join target t on t.id = k.target_id
        order by t.subject desc`
    const [first, second] = tasks
    const told = tasks.map((task) => ({
      serviceId: task.serviceId,
      statusCode: 40101,
      message: 'It failed.',
    }))
    const { late } = await world.db.begin(async (tx) => {
      await tx`select from task where id = ${first?.id ?? ''} for update`
      const late = world.db.begin((other) => postAgain(other, told, 3))
      await until('the batch waits', async () => {
        const [row] = await world.db.sql<{ waiting: number }[]>`
          select count(*) as waiting from pg_stat_activity where datname = current_database()
            and wait_event_type = 'Lock'`
        return row?.waiting === 1
      })
      assert.equal(await again(3, second?.serviceId), 1)
      await endAttemptPauses(world.db.sql)
      await buy(world)
      return { late }
    })
    assert.equal(await late, 1)
    const [bought] = await world.db.sql`select state, attempt from task where id = ${second?.id ?? ''}`
    assert.deepEqual({ ...bought }, { state: 'posted', attempt: 2 })
  })

  test('fails when its slot is over: an answer would come too late', async () => {
    await world.db.sql`update task set slot_ends_at = storerank_now()`
    assert.equal(await again(3), 0)
    assert.equal((await readTask()).state, 'failed')
    assert.equal((await readReservations(world.db.sql)).length, 0)
  })
})

describe('a task whose paid result breaks the contract', () => {
  test('fails, also when an earlier body of it is kept', async () => {
    const reject = () =>
      world.db.begin((tx) =>
        rejectResults(tx, [{ serviceId, path: 'items', problem: 'Bad.', bodyGzip: compressBody(null) }]),
      )
    await reject()
    await world.db.sql`update task set state = 'posted', ended_at = null`
    await reject()
    assert.equal((await readTask()).state, 'failed')
    assert.equal((await world.db.sql`select from rejected_result`).count, 1)
  })
})

describe('what has ended', () => {
  test('is not ended otherwise by what is told later', async () => {
    await collect(world)
    await world.db.begin(async (tx) => {
      await failResults(tx, [{ serviceId, statusCode: 40403, message: 'Expired.' }])
      await rejectResults(tx, [{ serviceId, path: 'items', problem: 'Bad.', bodyGzip: compressBody(null) }])
      await deferResults(tx, [{ serviceId, problem: 'Later.', pauseMs: 1000 }])
    })
    assert.equal(await again(3), 0)
    const { state, problem } = await readTask()
    assert.deepEqual({ state, problem }, { state: 'collected', problem: null })
    const kept = await world.db.sql`select from rejected_result`
    assert.equal(kept.length, 0)
  })

  test('leaves its gap beside the results of its function', async () => {
    const { sql } = world.db
    const functions = ['app_info', 'app_list', 'app_reviews', 'app_searches']
    await sql`
      with made as (
        insert into target (store, function, subject, location_code, language_code)
        select case f when 'app_reviews' then 'ios_store' else 'android_store' end, f, 'x', 2840, 'en'
          from unnest(${functions}::text[]) f returning id
      )
      insert into task (target_id, slot, slot_ends_at, priority, estimate_micros, payers)
      select id, now(), now() + interval '1 day', 1, 0, '{1}' from made`
    await sql`update task set state = 'failed', problem = 'It failed.', ended_at = now()
      where state = 'planned'`
    const left = await sql`
      select t.function, h.name from (
        select 'ranking' as name, target_id from ranking union all select 'app_snapshot', target_id
          from app_snapshot
      ) h join target t on t.id = h.target_id order by 1`
    assert.deepEqual(
      left.map((gap) => [gap.function, gap.name]),
      functions.map((name, place) => [name, place % 2 === 0 ? 'app_snapshot' : 'ranking']),
    )
  })

  test('says where its code is explained when the service said nothing itself', async () => {
    await world.db.begin((tx) => failResults(tx, [{ serviceId, statusCode: 40403, message: '' }]))
    const reason = '40403: The service gave no reason; `storerank api appendix/errors` lists its codes.'
    assert.deepEqual(await readGap(), { gap: 'failed', reason })
  })
})

test('a result that the service keeps no longer is given up, and its slot says the last answer', async () => {
  const { sql } = world.db
  await sql`update task set posted_at = posted_at - interval '31 days', problem = '40401: Task Not Found.'`
  assert.equal(await giveUpResults(sql), 0)
  await sql`update task set posted_at = posted_at - interval '2 days'`
  assert.equal(await giveUpResults(sql), 1)
  const reason =
    'Its result did not come while the service keeps results. The last answer was: 40401: Task Not Found.'
  assert.deepEqual(await readGap(), { gap: 'failed', reason })
})

describe('what is put off', () => {
  /** Minutes from now on, of a task that is due to be asked for by its id in 40 minutes. */
  async function putOffAfter(posted: string, problem: string | null, pauseMs: number) {
    await world.db.sql`
      update task set posted_at = clock_timestamp() - ${posted}::interval,
        ask_at = clock_timestamp() + interval '40 minutes'`
    await world.db.begin((tx) => deferResults(tx, [{ serviceId, problem, pauseMs }]))
    const [task] = await world.db.sql`
      select round(extract(epoch from fetching_until - clock_timestamp()) / 60)::int as pause,
        round(extract(epoch from ask_at - clock_timestamp()) / 60)::int as ask from task`
    return { ...task }
  }

  test('by trouble is asked for by its id, each time twice as late, never later than due', async () => {
    assert.deepEqual(await putOffAfter('10 seconds', 'Lost.', 60_000), { pause: 1, ask: 1 })
    assert.deepEqual(await putOffAfter('10 minutes', 'Lost.', 60_000), { pause: 1, ask: 10 })
    assert.deepEqual(await putOffAfter('20 minutes', 'Lost.', 60_000), { pause: 1, ask: 20 })
    assert.deepEqual(await putOffAfter('2 hours', 'Lost.', 60_000), { pause: 1, ask: 40 })
  })

  test('because it is not ready waits for the ready list', async () => {
    assert.deepEqual(await putOffAfter('10 minutes', null, 60_000), { pause: 1, ask: 40 })
  })
})

test('an unreadable body is kept whole, whatever is in it', async () => {
  const body = { text: 'a\0b', deep: [{ emoji: '🧘', lone: '\ud800' }], huge: 'x'.repeat(1_000_000) }
  await world.db.begin((tx) =>
    rejectResults(tx, [
      { serviceId, path: 'items[0]', problem: 'It cannot be read.', bodyGzip: compressBody(body) },
    ]),
  )
  const [kept] = await world.db.sql`select path, problem, body_gzip from rejected_result`
  assert.deepEqual([kept?.path, kept?.problem], ['items[0]', 'It cannot be read.'])
  assert.deepEqual(JSON.parse(gunzipSync(kept?.body_gzip).toString()), body)
  assert.deepEqual(await readGap(), { gap: 'failed', reason: 'It cannot be read.' })
})
