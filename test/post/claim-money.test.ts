/** What a claim may spend: by the day on which it sends, and by what is reserved. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { afterEach, describe, test } from 'node:test'
import type { Database } from '../../src/db/database.ts'
import { sql } from '../../src/db/sql.ts'
import { adoptTasks } from '../../src/ledger/adopt.ts'
import { lockLedger } from '../../src/ledger/lock.ts'
import { parseTag, type TaskTag } from '../../src/ledger/tag.ts'
import { postAgain } from '../../src/ledger/task-failures.ts'
import { claimPost } from '../../src/post/claim.ts'
import { lasting } from '../support/lasting.ts'
import {
  endAttemptPauses,
  readReservations,
  readSpendDifferences,
  recount,
  setTimeZone,
} from '../support/ledger.ts'
import { createWorld, until } from '../support/world.ts'
import {
  answered,
  answerOf,
  claim,
  claimAt,
  claimed,
  clientThat,
  countStates,
  countWaiting,
  depsOf,
  failAtService,
  forgetAll,
  perDay,
  planPost,
  planPosts,
  readCuts,
  readGaps,
  readMoney,
  rowsOf,
  runAt,
  subjectsClaimed,
  watch,
  work,
} from './posting.ts'

const world = lasting(createWorld)
afterEach(async () => {
  const differences = await readSpendDifferences(world.db.sql)
  await forgetAll(world)
  assert.deepEqual(differences, [])
})

/** Watches a keyword, plans it and claims its post; returns its task. */
async function claimNext(db: Database, keyword: string): Promise<TaskTag> {
  const postId = await planPost({ ...world, db }, [keyword], { every: '31 days' })
  const claim = await claimPost(db, postId, randomUUID(), depsOf(world))
  const tag = parseTag(claim.kind === 'claimed' ? (claim.post.tasks[0]?.tag ?? null) : null)
  assert.ok(tag !== null)
  return tag
}

/**
 * Reserves a minute before, and claims a minute after, this long before the day's end by UTC. Was it moved to
 * the claim?
 */
async function chargedWhenClaimedAt(postId: string, beforeMidnight: string): Promise<boolean> {
  const { sql } = world.db
  const [at] = await sql<{ planned: Date; claimed: Date }[]>`
    select m - interval '1 minute' as planned, m + interval '1 minute' as claimed
    from (select date_trunc('day', slot_ends_at, 'UTC') - ${beforeMidnight}::interval as m
      from task) as midnight`
  assert.ok(at !== undefined)
  await sql`update task set reserved_at = ${at.planned}`
  await recount(sql)
  assert.equal((await claimAt(world, postId, at.claimed.toISOString())).kind, 'claimed')
  const [reserved] = await readReservations(sql)
  if (reserved?.at.getTime() === at.planned.getTime()) return false
  assert.equal(reserved?.at.getTime(), at.claimed.getTime())
  return true
}

describe('a claim', () => {
  test('that waits over midnight spends the money of the new day, and no plan spends it again', async () => {
    const { sql, begin } = world.db
    const postId = await planPost(world, ['yoga'], { every: '31 days' })
    // A zone whose day ends in two seconds: in POSIX, what is to be added to its time to come to UTC.
    const [day] = await sql<{ zone: string; endsAt: Date }[]>`
      select '<X>+' || ends_at::time as zone, ends_at as "endsAt"
      from (select date_trunc('seconds', clock_timestamp()) + interval '2 seconds' as ends_at) as midnight`
    assert.ok(day !== undefined)
    // No zone of the list has its midnight now.
    await sql`alter table project drop constraint project_timezone_known`
    await setTimeZone(sql, day.zone)
    await sql`update project set daily_usd = 0.0012`
    const { claiming } = await begin(async (tx) => {
      await lockLedger(tx)
      const claiming = claim(world, postId)
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
    test(
      `is charged on the day of sending, though answered at ${answeredAt}, so that no day is above its ` +
        'budget',
      async () => {
        await world.db.sql`insert into project (name, daily_usd) values ('fitness', 0.0012)`
        const sent = await runAt(world, '2026-12-01 23:59:50+00', (db) => claimNext(db, 'yoga'))
        const other = await runAt(world, '2026-12-02 00:00:01+00', (db) => claimNext(db, 'pilates'))
        for (const task of [sent, other]) {
          const created = [{ ...task, serviceId: task.taskId, costMicros: 1200 }]
          await runAt(world, answeredAt, (db) => db.begin((tx) => adoptTasks(tx, created, 60_000)))
        }
        const days = await rowsOf(
          world,
          'select day::text, spent_usd::float8 as usd from spend_daily order by 1',
        )
        const expected = ['2026-12-01', '2026-12-02'].map((day) => ({ day, usd: 0.0012 }))
        assert.deepEqual(days, expected)
      },
    )
  }

  test('cuts by what is reserved: a second post costs what the first one did', async () => {
    const postId = await planPost(world, ['yoga', 'pilates'])
    const client = clientThat(world, [], ({ tags }) =>
      answered(tags.map((tag) => ({ ...answerOf(tag, 20100), costMicros: 600 }))),
    )
    await work(world, postId, { client })
    const posted = await world.db.sql<{ serviceId: string }[]>`select service_id as "serviceId" from task`
    const failed = posted.map(({ serviceId }) => ({ serviceId, statusCode: 40101, message: 'It failed.' }))
    assert.equal(await world.db.begin((tx) => postAgain(tx, failed, 3)), 2)
    await endAttemptPauses(world.db.sql)
    assert.deepEqual(await readMoney(world.db), { charge: 1200, reserved: 1200 })
    const [again] = await planPosts(world)
    assert.deepEqual(await claim(world, again, perDay(1200)), { kind: 'empty' })
    assert.deepEqual(await readMoney(world.db), { charge: 1200 })
  })

  // Midnight by UTC is 9 in the morning in Tokyo, and midnight there 15:00 UTC: one day by the other clock.
  for (const [by, beforeMidnight, isMoved] of [
    ['moves the reservation to the day of sending, by UTC', '24 hours', true],
    ['moves the reservation to the day of sending, by the time zone of its project', '9 hours', true],
    ['leaves the reservation alone within one day, so that it keeps its place in time', '5 hours', false],
  ] as const) {
    test(by, async () => {
      await world.db.sql`insert into project (name, timezone) values ('fitness', 'Asia/Tokyo')`
      const postId = await planPost(world, ['yoga'], { every: '31 days' })
      assert.equal(await chargedWhenClaimedAt(postId, beforeMidnight), isMoved)
    })
  }

  test('moves the reservation of several projects when the day of only one of them has ended', async () => {
    await world.db.sql`insert into project (name, timezone) values ('health', 'Asia/Tokyo')`
    await watch(world, ['yoga'], { project: 'health', every: '31 days' })
    const postId = await planPost(world, ['yoga'], { every: '31 days' })
    assert.equal(await chargedWhenClaimedAt(postId, '9 hours'), true)
  })

  test('raises the reservation of high priority to its own price, and lowers none', async () => {
    await watch(world, ['urgent'], { priority: 2 })
    const postId = await planPost(world, ['yoga'])
    await world.db.sql`update charged_price set unit_micros = 4000 where priority = 2`
    await world.db.sql`update task set estimate_micros = 5000, reserved_at = reserved_at - interval '1 day'
        where priority = 1`
    await recount(world.db.sql)
    assert.equal((await claim(world, postId)).kind, 'claimed')
    const tasks = await rowsOf(world, 'select estimate_micros as micros from task order by priority')
    assert.deepEqual(tasks, [{ micros: 5000 }, { micros: 4000 }])
  })

  for (const budget of ['daily_usd', 'monthly_usd']) {
    test(`cuts what a lowered ${budget} of a project no longer pays, and records the cut`, async () => {
      const postId = await planPost(world, ['yoga', 'pilates', 'running'])
      await world.db.sql`update project set ${sql.identifier(budget)} = 0.0025`
      assert.equal((await claimed(world, postId)).tasks.length, 2)
      assert.deepEqual(await readMoney(world.db), { reserved: 2400 })
      assert.deepEqual(await readCuts(world), [{ reason: 'project_budget', price_micros: 1200 }])
    })
  }

  test('cuts what was planned last, among tasks of one priority', async () => {
    const postId = await planPost(world, ['yoga', 'pilates', 'running'])
    await world.db.sql`
      update task set planned_at = planned_at - interval '1 hour'
      where target_id = (select id from target where subject = 'pilates')`
    await world.db.sql`update project set daily_usd = 0.0012`
    assert.deepEqual(await subjectsClaimed(world, postId), ['pilates'])
  })

  test('leaves what it cut to the next plan, which buys it when there is money again', async () => {
    const postId = await planPost(world, ['yoga', 'pilates'])
    await world.db.sql`update project set daily_usd = 0`
    assert.deepEqual(await claim(world, postId), { kind: 'empty' })
    assert.deepEqual(await planPosts(world), [])
    await world.db.sql`update project set daily_usd = 1`
    assert.equal((await planPosts(world)).length, 1)
    assert.deepEqual(await countStates(world.db), { planned: 2 })
    assert.deepEqual(await readCuts(world), [])
  })

  test('ends a task that was charged before and has no budget left as failed, not as cut', async () => {
    const postId = await planPost(world, ['yoga'])
    await failAtService(world)
    await world.db.sql`update project set daily_usd = 0`
    assert.deepEqual(await claim(world, postId), { kind: 'empty' })
    assert.deepEqual(await countStates(world.db), { failed: 1 })
    assert.deepEqual(await readMoney(world.db), {})
    assert.deepEqual(await readCuts(world), [])
    const reason = 'No budget was left to post it again after: 40101: It failed.'
    assert.deepEqual(await readGaps(world), [{ gap: 'failed', reason }])
  })

  test('cuts the least urgent first when the overall budget was lowered', async () => {
    await watch(world, ['urgent'], { priority: 2 })
    const postId = await planPost(world, ['yoga', 'pilates'])
    const budget = { maxDayMicros: 2400, maxMonthMicros: null }
    assert.deepEqual(await subjectsClaimed(world, postId, { budget }), ['urgent'])
    assert.deepEqual(
      new Set((await readCuts(world)).map(({ reason }) => reason)),
      new Set(['overall_budget']),
    )
  })

  test('credits what a project budget frees to the overall one, and cuts no task twice over', async () => {
    const postId = await planPost(world, ['yoga', 'pilates', 'running'])
    await world.db.sql`update project set daily_usd = 0.0024`
    const budget = { maxDayMicros: 2400, maxMonthMicros: null }
    assert.equal((await claimed(world, postId, { budget })).tasks.length, 2)
    assert.deepEqual(await readMoney(world.db), { reserved: 2400 })
    assert.deepEqual(await readCuts(world), [{ reason: 'project_budget', price_micros: 1200 }])
  })

  test('cuts for all projects together what one project alone does not free', async () => {
    await watch(world, ['chess', 'go'], { project: 'games' })
    const postId = await planPost(world, ['yoga', 'pilates'])
    await world.db.sql`update project set daily_usd = 0.0012 where name = 'fitness'`
    const budget = { maxDayMicros: 2400, maxMonthMicros: null }
    assert.equal((await claimed(world, postId, { budget })).tasks.length, 2)
    assert.deepEqual(await readMoney(world.db), { reserved: 2400 })
    const cuts = (await readCuts(world)).map(({ reason }) => reason)
    assert.deepEqual(cuts, ['project_budget', 'overall_budget'])
  })

  test('closes a post of which the budget leaves nothing', async () => {
    const postId = await planPost(world, ['yoga'])
    const budget = { maxDayMicros: 0, maxMonthMicros: null }
    assert.deepEqual(await claim(world, postId, { budget }), { kind: 'empty' })
    assert.deepEqual(await readMoney(world.db), {})
  })
})

describe('a service that takes more than its price list says', () => {
  const dear = (costMicros: number) =>
    clientThat(world, [], ({ tags }) =>
      answered(tags.map((tag) => ({ ...answerOf(tag, 20100), costMicros }))),
    )

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
    assert.deepEqual(await claim(world, second, perDay(3900)), { kind: 'empty' })
    assert.deepEqual(await readMoney(world.db), { charge: 2000 })
    assert.deepEqual(await readCuts(world), [{ reason: 'overall_budget', price_micros: 2000 }])
  })

  test('is asked by one post alone what it takes, while that is not known', async () => {
    const [first, second] = await planTwoPosts()
    await world.db.sql`delete from charged_price`
    const post = await claimed(world, first, perDay(10_000))
    assert.equal((await claim(world, second, perDay(10_000))).kind, 'wait')
    const tag = parseTag(post.tasks[0]?.tag ?? null)
    assert.ok(tag !== null)
    await world.db.begin((tx) => adoptTasks(tx, [{ ...tag, serviceId: 's', costMicros: 1200 }], 60_000))
    assert.equal((await claim(world, second, perDay(10_000))).kind, 'claimed')
  })
})

test('without the one row of the ledger nothing is claimed, and a sentence says what to do', async (t) => {
  const postId = await planPost(world, ['yoga'])
  await world.db.sql`delete from ledger`
  t.after(() => world.db.sql`insert into ledger default values`)
  await assert.rejects(claim(world, postId), /The table ledger has lost its one row/)
})
