import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { afterEach, describe, test } from 'node:test'
import fc from 'fast-check'
import { closeEndedSlots } from '../../src/history/close-slots.ts'
import { adoptOrphans, adoptTasks, type CreatedTask, toListedIds } from '../../src/ledger/adopt.ts'
import { parseTag } from '../../src/ledger/tag.ts'
import { claimPost } from '../../src/post/claim.ts'
import { TIMINGS } from '../../src/timings.ts'
import { countStates, countWaiting, depsOf, forgetAll, planPost, readMoney, watch } from '../post/posting.ts'
import { lasting } from '../support/lasting.ts'
import { readSpendDifferences, recount, rememberPrices } from '../support/ledger.ts'
import { createWorld, until } from '../support/world.ts'

const world = lasting(createWorld)
afterEach(async () => {
  const differences = await readSpendDifferences(world.db.sql)
  await forgetAll(world)
  assert.deepEqual([...differences], [])
})

/** Claims the keywords, and returns what the service would say it created of them. */
async function claimKeywords(
  keywords: readonly string[],
  costMicros: number | null = 1200,
): Promise<CreatedTask[]> {
  const claim = await claimPost(world.db, await planPost(world, keywords), randomUUID(), depsOf(world))
  assert.ok(claim.kind === 'claimed')
  return claim.post.tasks.map((task) => {
    const tag = parseTag(task.tag)
    assert.ok(tag !== null)
    return { ...tag, serviceId: `s-${task.subject}`, costMicros }
  })
}

function record(created: readonly CreatedTask[]) {
  return world.db.begin((tx) => adoptTasks(tx, created, 60_000))
}

function adopt(created: readonly CreatedTask[]) {
  return world.db.begin((tx) => adoptOrphans(tx, created, 60_000, toListedIds(created)))
}

describe('evidence', () => {
  test('in any order, in any batches and however often repeated makes the same charges', async () => {
    const facts = await claimKeywords(['yoga', 'pilates', 'running'])
    const batches = fc.array(fc.array(fc.nat(facts.length - 1), { maxLength: 5 }), { maxLength: 4 })
    await fc.assert(
      fc.asyncProperty(batches, async (indexes) => {
        await world.db.sql`delete from charge`
        await world.db.sql`update task set state = 'posting', service_id = null, charged_posts = 0`
        await recount(world.db.sql)
        for (const batch of [...indexes, [2, 0, 1]])
          await record(batch.flatMap((index) => facts[index] ?? []))
        assert.deepEqual(await readMoney(world.db), { charge: 3600 })
        assert.deepEqual(await countStates(world.db), { posted: 3 })
        const charges = await world.db.sql`select service_id from charge where kind = 'charge' order by 1`
        assert.deepEqual(
          charges.map((row) => row.service_id),
          ['s-pilates', 's-running', 's-yoga'],
        )
      }),
      { numRuns: 6 },
    )
  })

  test('of the same task from two recorders at once is one charge: the second waits for it', async () => {
    const facts = await claimKeywords(['yoga', 'pilates'])
    const second = await world.db.begin(async (tx) => {
      await adoptTasks(tx, facts, 60_000)
      const waiting = record(facts.toReversed())
      await until('the second recorder waits', async () => (await countWaiting(world)) > 0)
      return [waiting]
    })
    assert.deepEqual({ ...(await second[0]) }, { adopted: 0, duplicates: 0 })
    assert.deepEqual(await readMoney(world.db), { charge: 2400 })
  })

  test('of a second service id is a duplicate: shown, and never the task’s own', async () => {
    const [fact] = await claimKeywords(['yoga'])
    assert.ok(fact !== undefined)
    const second = { ...fact, attempt: 2, serviceId: 's-second', costMicros: 2400 }
    assert.deepEqual({ ...(await record([fact])) }, { adopted: 1, duplicates: 0 })
    assert.deepEqual({ ...(await record([second, fact])) }, { adopted: 0, duplicates: 1 })
    assert.deepEqual({ ...(await record([second])) }, { adopted: 0, duplicates: 0 })
    assert.deepEqual(await readMoney(world.db), { charge: 1200, duplicate: 2400 })
    const [task] = await world.db.sql`select service_id from task`
    assert.equal(task?.service_id, 's-yoga')
  })

  test('of two service ids in one batch charges the first and shows the other', async () => {
    const [fact] = await claimKeywords(['yoga'])
    assert.ok(fact !== undefined)
    await record([fact, { ...fact, serviceId: 's-second' }])
    assert.deepEqual(await readMoney(world.db), { charge: 1200, duplicate: 1200 })
    const [task] = await world.db.sql`select service_id from task`
    assert.equal(task?.service_id, 's-yoga')
  })

  test('of a second id is a duplicate where a complete list has both, and is else doubted', async () => {
    const [fact] = await claimKeywords(['yoga'])
    assert.ok(fact !== undefined)
    await record([fact])
    await world.db.sql`update post set state = 'settled'`
    const second = { ...fact, serviceId: 's-second' }
    const adoptListed = (listed: readonly CreatedTask[]) =>
      world.db.begin((tx) => adoptOrphans(tx, [second], 60_000, toListedIds(listed)))
    assert.deepEqual({ ...(await adoptListed([second])) }, { adopted: 0, duplicates: 0 })
    assert.equal((await world.db.sql`select from post where state = 'unknown'`).count, 1)
    assert.deepEqual({ ...(await adoptListed([fact, second])) }, { adopted: 0, duplicates: 1 })
    assert.deepEqual(await readMoney(world.db), { charge: 1200, duplicate: 1200 })
  })

  test('without a cost is charged as estimated', async () => {
    await record(await claimKeywords(['yoga'], null))
    assert.deepEqual(await readMoney(world.db), { charge: 1200 })
  })

  test('moves no state backwards', async () => {
    const facts = await claimKeywords(['yoga', 'pilates'])
    await world.db.sql`update task set state = 'failed', problem = 'x' where id = ${facts[0]?.taskId ?? ''}`
    await recount(world.db.sql)
    await record(facts)
    assert.deepEqual(await countStates(world.db), { failed: 1, posted: 1 })
    assert.deepEqual(await readMoney(world.db), { charge: 2400 })
  })

  test('of a task that is planned again ends its being planned: it is not bought a second time', async () => {
    const facts = await claimKeywords(['yoga'])
    await world.db.sql`update task set state = 'planned', attempt = 2`
    await record(facts)
    assert.deepEqual(await countStates(world.db), { posted: 1 })
    assert.deepEqual(await readMoney(world.db), { charge: 1200 })
  })

  test('of a task released and dropped since is charged to those who had reserved for it', async () => {
    await watch(world, ['yoga'], { project: 'health' })
    const [fact] = await claimKeywords(['yoga'], null)
    assert.ok(fact !== undefined)
    await world.db.sql`update post set state = 'ready', token = null`
    await world.db.sql`update task set state = 'planned', attempt = 2`
    await world.db.sql`delete from keyword_watch`
    const [post] = await world.db.sql<{ id: string }[]>`select id from post`
    assert.deepEqual(await claimPost(world.db, post?.id ?? '', randomUUID(), depsOf(world)), {
      kind: 'empty',
    })
    await closeEndedSlots(world.db)
    assert.deepEqual(await countStates(world.db), { dropped: 1 })
    assert.deepEqual({ ...(await adopt([fact])) }, { adopted: 1, duplicates: 0 })
    assert.deepEqual({ ...(await adopt([fact])) }, { adopted: 0, duplicates: 0 })
    const [task] = await world.db.sql`select state, ended_at from task`
    assert.deepEqual({ ...task }, { state: 'posted', ended_at: null })
    const charges = await world.db.sql`
      select p.name as project, c.amount_micros, t.subject
      from charge c join target t on t.id = c.target_id join project p on p.id = c.project_id
      where kind = 'charge' order by 1`
    assert.deepEqual(
      [...charges],
      [
        { project: 'fitness', amount_micros: 600, subject: 'yoga' },
        { project: 'health', amount_micros: 600, subject: 'yoga' },
      ],
    )
  })

  test('of a dropped task whose slot another one has is a duplicate, and changes neither', async () => {
    const [fact] = await claimKeywords(['yoga'])
    assert.ok(fact !== undefined)
    await world.db.sql`update post set state = 'ready', token = null`
    await world.db.sql`update task set state = 'planned', attempt = 2`
    await world.db.sql`delete from keyword_watch`
    const [post] = await world.db.sql<{ id: string }[]>`select id from post`
    await claimPost(world.db, post?.id ?? '', randomUUID(), depsOf(world))
    await planPost(world, ['yoga'])
    assert.deepEqual({ ...(await adopt([fact])) }, { adopted: 1, duplicates: 0 })
    assert.deepEqual(await countStates(world.db), { dropped: 1, planned: 1 })
    assert.deepEqual(await readMoney(world.db), { duplicate: 1200, reserved: 1200 })
  })

  test('of a task of high priority has its result asked for by id earlier', async () => {
    await watch(world, ['urgent'], { priority: 2 })
    const facts = await claimKeywords(['yoga'])
    await world.db.begin((tx) => adoptTasks(tx, facts, 3_600_000))
    const tasks = await world.db.sql`
      select priority, round(extract(epoch from ask_at - posted_at))::int as seconds from task
        order by priority`
    assert.deepEqual(
      [...tasks],
      [
        { priority: 1, seconds: 3600 },
        { priority: 2, seconds: TIMINGS.highPriorityOverdueMs / 1000 },
      ],
    )
  })

  for (const [why, edit] of [
    ['nobody watches it any more', 'delete from keyword_watch'],
    ['there is no money for it', 'update project set daily_usd = 0'],
  ] as const) {
    test(
      `of a task that a claim drops at the same moment, as ${why}, goes first: what was paid for is ` +
        'fetched',
      async () => {
        const postId = await planPost(world, ['yoga'])
        await world.db.sql`update task set attempt = 2`
        await world.db.sql.unsafe(edit)
        const [task] = await world.db.sql<{ id: string }[]>`select id from task`
        const found = { taskId: task?.id ?? '', attempt: 1, serviceId: 's', costMicros: 1200 }
        const { claiming } = await world.db.begin(async (tx) => {
          await adoptTasks(tx, [found], 60_000)
          const claiming = claimPost(world.db, postId, randomUUID(), depsOf(world))
          await until('the claim waits', async () => (await countWaiting(world)) === 1)
          return { claiming }
        })
        assert.deepEqual(await claiming, { kind: 'empty' })
        assert.deepEqual(await countStates(world.db), { posted: 1 })
        assert.deepEqual(await readMoney(world.db), { charge: 1200 })
        assert.equal((await world.db.sql`select from due_slot where cut is not null`).count, 0)
      },
    )
  }

  test('of nobody’s task is none of ours', async () => {
    const stranger = {
      taskId: '01a1fe40-5038-79f3-b915-9d60b7ec36b2',
      attempt: 1,
      serviceId: 's',
      costMicros: 1200,
    }
    assert.deepEqual({ ...(await record([stranger])) }, { adopted: 0, duplicates: 0 })
    assert.deepEqual({ ...(await adopt([stranger])) }, { adopted: 0, duplicates: 0 })
  })

  test('the shares of a charge add up, whatever it costs and however many pay', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 0, max: 9_999_999 }),
        fc.integer({ min: 1, max: 5 }),
        async (costMicros, payers) => {
          await forgetAll(world)
          for (let n = 1; n < payers; n += 1) await watch(world, ['yoga'], { project: `p${n}` })
          await record(await claimKeywords(['yoga'], costMicros))
          const shares = await world.db.sql<{ micros: number }[]>`
          select amount_micros as micros from charge where kind = 'charge'`
          assert.equal(shares.length, payers)
          assert.equal(
            shares.reduce((sum, share) => sum + share.micros, 0),
            costMicros,
          )
          assert.ok(
            Math.max(...shares.map((share) => share.micros)) -
              Math.min(...shares.map((share) => share.micros)) <
              payers,
          )
        },
      ),
      { numRuns: 6 },
    )
  })
})

test('what the service took is learned by the unit, rounded up, by the dearest answer', async (t) => {
  t.after(async () => {
    await world.db.sql`delete from charged_price`
    await rememberPrices(world.db.sql)
  })
  const postId = await planPost(world, ['yoga', 'pilates'], { depth: 300 })
  const claim = await claimPost(world.db, postId, randomUUID(), depsOf(world))
  assert.ok(claim.kind === 'claimed')
  const created = claim.post.tasks.map((task, n) => {
    const tag = parseTag(task.tag)
    assert.ok(tag !== null)
    return { ...tag, serviceId: `s-${n}`, costMicros: 3601 - n }
  })
  await record(created)
  const [price] = await world.db.sql`
    select unit_micros from charged_price where store = 'ios_store' and function = 'app_searches'
      and priority = 1`
  assert.equal(price?.unit_micros, 1201)
})
