/** What a claim may spend: by the day on which it sends, and by what is reserved. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, afterEach, before, describe, test } from 'node:test'
import type { Database } from '../../src/db/database.ts'
import { adoptTasks } from '../../src/ledger/adopt.ts'
import { lockLedger } from '../../src/ledger/lock.ts'
import { parseTag, type TaskTag } from '../../src/ledger/tag.ts'
import { postAgain } from '../../src/ledger/task-failures.ts'
import { claimPost } from '../../src/post/claim.ts'
import { createWorld, until, type World } from '../support/world.ts'
import {
  answered,
  answerOf,
  clientThat,
  countWaiting,
  depsOf,
  forgetAll,
  planPost,
  planPosts,
  readMoney,
  runAt,
  watch,
  work,
} from './posting.ts'

let world: World
before(async () => {
  world = await createWorld()
})
afterEach(() => forgetAll(world))
after(() => world.close())

/** Watches a keyword, plans it and claims its post; returns its task. */
async function claimNext(db: Database, keyword: string): Promise<TaskTag> {
  const postId = await planPost({ ...world, db }, [keyword], { every: '31 days' })
  const claim = await claimPost(db, postId, randomUUID(), depsOf(world))
  const tag = parseTag(claim.kind === 'claimed' ? (claim.post.tasks[0]?.tag ?? null) : null)
  assert.ok(tag !== null)
  return tag
}

describe('a claim', () => {
  test('that waits over midnight spends the money of the new day, so that no plan gives it away again', async () => {
    const { sql, begin } = world.db
    const postId = await planPost(world, ['yoga'], { every: '31 days' })
    // A zone whose day ends in two seconds: in POSIX, what is to be added to its time to come to UTC.
    const [day] = await sql<{ zone: string; endsAt: Date }[]>`
      select '<X>+' || ends_at::time as zone, ends_at as "endsAt"
      from (select date_trunc('seconds', clock_timestamp()) + interval '2 seconds' as ends_at) as midnight`
    assert.ok(day !== undefined)
    // No zone of the list has its midnight now.
    await sql`alter table project drop constraint project_timezone_known`
    await sql`update project set timezone = ${day.zone}, daily_usd = 0.0012`
    const { claiming } = await begin(async (tx) => {
      await lockLedger(tx)
      const claiming = claimPost(world.db, postId, randomUUID(), depsOf(world))
      await until('the claim waits', async () => (await countWaiting(world)) === 1)
      await until('the day is over', async () => {
        const [clock] = await sql<{ isOver: boolean }[]>`select clock_timestamp() > ${day.endsAt} as "isOver"`
        return clock?.isOver === true
      })
      return { claiming }
    })
    assert.equal((await claiming).kind, 'claimed')
    await watch(world, ['pilates'])
    assert.deepEqual(await planPosts(world), [])
    assert.deepEqual(await readMoney(world.db), { reserved: 1200 })
  })

  for (const answeredAt of ['2026-12-02 00:00:05+00', '2027-01-03 12:00+00']) {
    test(`is charged on the day of sending, though answered at ${answeredAt}, so that no day is above its budget`, async () => {
      await world.db.sql`insert into project (name, daily_usd) values ('fitness', 0.0012)`
      const sent = await runAt(world, '2026-12-01 23:59:50+00', (db) => claimNext(db, 'yoga'))
      const other = await runAt(world, '2026-12-02 00:00:01+00', (db) => claimNext(db, 'pilates'))
      for (const task of [sent, other]) {
        const created = [{ ...task, serviceId: task.taskId, costMicros: 1200 }]
        await runAt(world, answeredAt, (db) => db.begin((tx) => adoptTasks(tx, created, 60_000)))
      }
      const days = await world.db
        .sql`select day::text, spent_usd::float8 as usd from spend_daily order by day`
      assert.deepEqual(
        [...days],
        [
          { day: '2026-12-01', usd: 0.0012 },
          { day: '2026-12-02', usd: 0.0012 },
        ],
      )
    })
  }

  test('cuts by what is reserved: the second post of a task costs what the first one did, not what was expected', async () => {
    const postId = await planPost(world, ['yoga', 'pilates'])
    const client = clientThat(world, [], ({ tags }) =>
      answered(tags.map((tag) => ({ ...answerOf(tag, 20100), costMicros: 600 }))),
    )
    await work(world, postId, { client })
    const posted = await world.db.sql<{ serviceId: string }[]>`select service_id as "serviceId" from task`
    const failed = posted.map(({ serviceId }) => ({ serviceId, statusCode: 40101, message: 'It failed.' }))
    assert.equal(await world.db.begin((tx) => postAgain(tx, failed, 3)), 2)
    assert.deepEqual(await readMoney(world.db), { charge: 1200, reserved: 1200 })
    const budget = { maxDayMicros: 1200, maxMonthMicros: null, maxRunMicros: null }
    const [again] = await planPosts(world)
    const claim = await claimPost(world.db, again ?? '', randomUUID(), { ...depsOf(world), budget })
    assert.deepEqual(claim, { kind: 'empty' })
    assert.deepEqual(await readMoney(world.db), { charge: 1200 })
  })
})

describe('a service that takes more than its price list says', () => {
  const dear = (costMicros: number) =>
    clientThat(world, [], ({ tags }) =>
      answered(tags.map((tag) => ({ ...answerOf(tag, 20100), costMicros }))),
    )
  const budgetOf = (maxDayMicros: number) => ({
    ...depsOf(world),
    budget: { maxDayMicros, maxMonthMicros: null },
  })

  /** Two posts, of one task each, at a list price of nothing. */
  async function planTwoPosts(): Promise<[string, string]> {
    await world.db.sql`
      insert into account_usage (login, prices)
      values ('me', '[{"function": "app_searches", "normalMicros": 0, "highMicros": 0}]')`
    const first = await planPost(world, ['yoga'])
    const second = await planPost(world, ['pilates'])
    return [first, second]
  }

  test('is paid no more than the budget: what was charged last is reserved from then on', async () => {
    const [first, second] = await planTwoPosts()
    assert.deepEqual(await readMoney(world.db), { reserved: 2400 })
    await work(world, first, { client: dear(2000) })
    // 2,000 are spent, and 1,200 were reserved for the second at the price of the specification.
    assert.deepEqual(await claimPost(world.db, second, randomUUID(), budgetOf(3900)), { kind: 'empty' })
    assert.deepEqual(await readMoney(world.db), { charge: 2000 })
    const [cut] = await world.db.sql`select reason, price_micros::int as micros from budget_cut`
    assert.deepEqual({ ...cut }, { reason: 'overall_budget', micros: 2000 })
  })

  test('is asked by one post alone what it takes, while that is not known', async () => {
    const [first, second] = await planTwoPosts()
    await world.db.sql`delete from charged_price`
    const claim = await claimPost(world.db, first, randomUUID(), budgetOf(10_000))
    assert.ok(claim.kind === 'claimed')
    assert.equal((await claimPost(world.db, second, randomUUID(), budgetOf(10_000))).kind, 'wait')
    const tag = parseTag(claim.post.tasks[0]?.tag ?? null)
    assert.ok(tag !== null)
    await world.db.begin((tx) => adoptTasks(tx, [{ ...tag, serviceId: 's', costMicros: 1200 }], 60_000))
    assert.equal((await claimPost(world.db, second, randomUUID(), budgetOf(10_000))).kind, 'claimed')
  })
})

test('without the one row of the ledger nothing is claimed, and a sentence says what to do', async (t) => {
  const postId = await planPost(world, ['yoga'])
  await world.db.sql`delete from ledger`
  t.after(() => world.db.sql`insert into ledger default values`)
  await assert.rejects(
    claimPost(world.db, postId, randomUUID(), depsOf(world)),
    /The table ledger has lost its one row/,
  )
})
