/**
 * What the service charges is compared with what it states: units and prices are learned, doubted, corrected,
 * and forgotten.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { Writable } from 'node:stream'
import { beforeEach, describe, test } from 'node:test'
import fc from 'fast-check'
import { pino } from 'pino'
import { auditDoubted, auditPosted } from '../../src/audit/audit.ts'
import { adoptTasks } from '../../src/ledger/adopt.ts'
import { parseTag } from '../../src/ledger/tag.ts'
import { claimPost } from '../../src/post/claim.ts'
import { sweepPosts } from '../../src/post/reconcile.ts'
import {
  answered,
  answerOf,
  clientThat,
  countStates,
  depsOf,
  planPost,
  planPosts,
  readMoney,
  readOwnBooks,
  watch,
  work,
} from '../post/posting.ts'
import { emptyTables } from '../support/database.ts'
import { putFaults } from '../support/faults.ts'
import { lasting } from '../support/lasting.ts'
import { readSpendDifferences } from '../support/ledger.ts'
import { collect, tamper, watch as watchAny } from '../support/stages.ts'
import { createWorld } from '../support/world.ts'

const world = lasting(() => createWorld({ sandbox: { deviations: ['units'] } }))
beforeEach(async () => {
  await putFaults(world.sandboxUrl, {})
  await emptyTables(world.db.sql)
  // What was bought before is forgotten, and must not be recovered.
  await world.db.sql`
    update ledger set is_apart = true, installation = substr(replace(gen_random_uuid()::text, '-', ''), 1,
      12)`
})

/** What a unit of the searches of the ios_store costs, and how many results it has. */
async function readUnit(fn = 'app_searches'): Promise<{ results: number; micros: number }> {
  const [row] = await world.db.sql<{ results: number; micros: number }[]>`
    select billed_results as results, billed_micros as micros from unit_price
    where store = 'ios_store' and function = ${fn} and priority = 1`
  assert.ok(row !== undefined)
  return { ...row }
}

/** What is reserved for searches of the ios_store, by depth. */
async function readReserved(depths: readonly number[]): Promise<number[]> {
  const rows = await world.db.sql<{ micros: number }[]>`
    select task_price(d.depth, unit_results, unit_micros) as micros
    from unnest(${depths}::smallint[]) with ordinality as d (depth, place) cross join unit_price
    where store = 'ios_store' and function = 'app_searches' and priority = 1 order by d.place`
  return rows.map(({ micros }) => micros)
}

const readTold = async () =>
  (await world.db.sql<{ message: string }[]>`select message from task_problem where kind = 'price'`).map(
    ({ message }) => message,
  )

/** Buys one search after the other; the service says that it cost so much. */
async function buyAt(keyword: string, costMicros: number): Promise<void> {
  const postId = await planPost(world, [keyword])
  const client = clientThat(world, [], ({ tags }) =>
    answered(tags.map((tag) => ({ ...answerOf(tag, 20100), costMicros }))),
  )
  await work(world, postId, { client })
}

/** Buys searches of these depths in one post; the service says what each cost. */
async function chargeTasks(tasks: readonly { depth: number; costMicros: number }[]): Promise<void> {
  for (const [n, { depth }] of tasks.entries()) await watch(world, [`keyword ${n}`], { depth })
  const [postId] = await planPosts(world)
  const claim = await claimPost(world.db, postId ?? '', randomUUID(), {
    ...depsOf(world),
    budget: { maxDayMicros: 1e12, maxMonthMicros: null },
  })
  assert.ok(claim.kind === 'claimed')
  const created = claim.post.tasks.map(({ tag, subject }) => {
    const parsed = parseTag(tag)
    assert.ok(parsed !== null)
    return { ...parsed, serviceId: tag, costMicros: tasks[Number(subject.split(' ')[1])]?.costMicros ?? null }
  })
  await world.db.begin((tx) => adoptTasks(tx, created, 60_000))
}

describe('a billing unit that the service has changed', () => {
  test('is learned by charges of two depths, told, and used for plans and refunds', async () => {
    await watchAny(world, 'app_watch', {
      app_id: '1480010017',
      store: 'ios_store',
      info: false,
      reviews: true,
      reviews_depth: 100,
    })
    const lines: string[] = []
    const log = pino(
      { level: 'warn' },
      new Writable({ write: (line, _, done) => done(void lines.push(String(line))) }),
    )
    const [postId] = await planPosts(world)
    assert.deepEqual(await readMoney(world.db), { reserved: 1500 })
    await work(world, postId ?? '', { log })
    assert.deepEqual(await readMoney(world.db), { charge: 3000 })
    assert.deepEqual(await readUnit('app_reviews'), { results: 25, micros: 750 })
    const either =
      'The service took more than its price list says: it bills 25 results as one unit and not 50, or ' +
      'takes more for a unit. Budgets reserve the dearer until a task of another depth says which.'
    assert.deepEqual(await readTold(), [either])
    await watchAny(world, 'app_watch', {
      app_id: '1480010018',
      store: 'ios_store',
      info: false,
      reviews: true,
      reviews_depth: 60,
    })
    const [next] = await planPosts(world)
    assert.deepEqual(await readMoney(world.db), { charge: 3000, reserved: 3000 })
    await work(world, next ?? '', { log })
    assert.deepEqual(await readMoney(world.db), { charge: 5250 })
    const proved =
      'The service bills 25 results as one unit, and not 50: budgets, plans and refunds go by that now.'
    assert.deepEqual(await readTold(), [proved])
    assert.deepEqual(
      lines.map((line) => JSON.parse(line).problem),
      [either, proved],
    )
    await collect(world)
    const { charge = 0, refund = 0 } = await readMoney(world.db)
    const books = await readOwnBooks(world)
    assert.equal(
      charge + refund,
      books.reduce((sum, { costMicros }) => sum + costMicros, 0),
    )
    assert.deepEqual(await readSpendDifferences(world.db.sql), [])
  })

  test('is one by which each charge is right, whatever it is and whatever was asked for', async () => {
    const depths = fc.array(fc.integer({ min: 1, max: 700 }), { minLength: 1, maxLength: 6 })
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 12, max: 300 }), depths, async (unit, wanted) => {
        await emptyTables(world.db.sql)
        const tasks = wanted.map((depth) => ({ depth, costMicros: Math.ceil(depth / unit) * 1200 }))
        await chargeTasks(tasks)
        const learned = await readUnit()
        for (const { depth, costMicros } of tasks) {
          assert.equal(Math.ceil(depth / learned.results) * learned.micros, costMicros)
        }
      }),
      { numRuns: 5 },
    )
  })

  test('is not made up where a charge fits the known unit, and forgotten where it fits again', async () => {
    await chargeTasks([{ depth: 50, costMicros: 1200 }])
    assert.deepEqual(await readUnit(), { results: 100, micros: 1200 })
    await emptyTables(world.db.sql)
    await chargeTasks([{ depth: 100, costMicros: 4800 }])
    assert.deepEqual(await readUnit(), { results: 25, micros: 1200 })
    await watch(world, ['another'], { depth: 100 })
    await buyAt('yoga', 1200)
    assert.deepEqual(await readUnit(), { results: 100, micros: 1200 })
  })
})

describe('a price', () => {
  const twice: [string, { depth: number; costMicros: number }, Record<number, number>][] = [
    ['one unit', { depth: 100, costMicros: 2400 }, { 1: 2400, 10: 2400, 100: 2400, 101: 4800, 700: 16_800 }],
    ['part of a unit', { depth: 50, costMicros: 2400 }, { 10: 2400, 50: 2400, 51: 4800, 100: 4800 }],
    ['some units', { depth: 300, costMicros: 7200 }, { 10: 2400, 300: 7200, 301: 9600 }],
    ['units and a part', { depth: 250, costMicros: 4800 }, { 10: 4800, 250: 4800, 251: 9600 }],
  ]
  for (const [name, charged, reserved] of twice) {
    test(`above the list for ${name} is reserved at other depths by the dearer cause`, async () => {
      await chargeTasks([charged])
      const depths = Object.keys(reserved).map(Number)
      assert.deepEqual(await readReserved(depths), Object.values(reserved))
    })
  }

  test('is never reserved too low at another depth, whatever was charged at one and why', async () => {
    const depth = fc.integer({ min: 1, max: 700 })
    const bill = fc.oneof(
      fc.integer({ min: 1, max: 99 }).map((unit) => (of: number) => Math.ceil(of / unit) * 1200),
      fc.integer({ min: 1, max: 9 }).map((times) => (of: number) => Math.ceil(of / 100) * 1200 * times),
    )
    const others = [1, 10, 99, 100, 101, 250, 350, 700]
    await fc.assert(
      fc.asyncProperty(depth, bill, async (charged, cost) => {
        await emptyTables(world.db.sql)
        await chargeTasks([{ depth: charged, costMicros: cost(charged) }])
        const isDoubted = (await readTold()).join().includes('The next task is bought alone')
        if (isDoubted) return
        const known = await readReserved(others)
        for (const [at, micros] of known.entries()) {
          const other = others[at] ?? 1
          assert.ok(micros >= cost(other) || cost(charged) === Math.ceil(charged / 100) * 1200, `${other}`)
        }
      }),
      { numRuns: 9 },
    )
  })

  test('that is twice the list is known by the second depth, and not taken for a unit again', async () => {
    await chargeTasks([{ depth: 100, costMicros: 2400 }])
    assert.deepEqual(await readUnit(), { results: 50, micros: 1200 })
    for (const depth of [10, 100, 300]) {
      await watch(world, [`depth ${depth}`], { depth })
      const [postId] = await planPosts(world)
      const costMicros = 2400 * Math.ceil(depth / 100)
      const client = clientThat(world, [], ({ tags }) =>
        answered(tags.map((tag) => ({ ...answerOf(tag, 20100), costMicros }))),
      )
      await work(world, postId ?? '', { client })
      assert.deepEqual(await readUnit(), { results: 100, micros: 2400 }, `${depth}`)
      assert.deepEqual(await readReserved([10, 100, 300]), [2400, 2400, 7200])
    }
    assert.match((await readTold()).join(), /^The service takes \$0\.0024 a unit, and its price list says/)
  })

  test('that fits no unit is that of the dearest task, and told with what the list says', async () => {
    await chargeTasks([
      { depth: 300, costMicros: 3600 },
      { depth: 300, costMicros: 3900 },
    ])
    assert.deepEqual(await readUnit(), { results: 100, micros: 1300 })
    assert.deepEqual(await readTold(), [
      'The service takes $0.0013 a unit, and its price list says $0.0012: budgets and plans go by what ' +
        'it takes. Ask the service why.',
    ])
  })

  test('that was charged counts for eight days', async () => {
    await chargeTasks([{ depth: 100, costMicros: 1900 }])
    assert.equal((await readUnit()).micros, 1900)
    await world.db.sql`update charged_price set charged_at = charged_at - interval '8 days'`
    assert.equal((await readUnit()).micros, 1200)
    assert.deepEqual(await readTold(), [])
  })

  test('of one task among others that cost what is known says nothing', async () => {
    await chargeTasks([
      { depth: 100, costMicros: 1200 },
      { depth: 100, costMicros: 6_000_000 },
      { depth: 100, costMicros: 6_000_000 },
    ])
    assert.deepEqual(await readUnit(), { results: 100, micros: 1200 })
    assert.deepEqual(await readTold(), [])
  })
})

describe('one answer with a wrong cost', () => {
  /** Plans posts of several tasks, of which the first one costs $6 by its answer. */
  async function buyWithWrongCost(): Promise<void> {
    await putFaults(world.sandboxUrl, { wrongCost: { times: 1 } })
    await work(world, await planPost(world, ['yoga']))
    assert.deepEqual(await readMoney(world.db), { charge: 6_000_000 })
  }
  const generous = { budget: { maxDayMicros: 1e9, maxMonthMicros: null } }

  test('stops nothing: the price list is read again, and one task is bought before the others', async () => {
    await buyWithWrongCost()
    assert.equal((await readUnit()).micros, 1200)
    assert.match(
      (await readTold()).join(),
      /^The service took \$6\.00 a unit, and its price list says \$0\.0012\. The next task/,
    )
    await watch(world, ['pilates', 'running', 'rowing'])
    const [postId] = await planPosts(world)
    // The budget of the day is used up by the wrong charge, until its hour is audited.
    assert.deepEqual(postId, undefined)
    const ample = { ...world.settings, budget: { ...generous.budget, maxRunMicros: null } }
    const [next] = await planPosts({ ...world, settings: ample })
    assert.equal((await world.db.sql`select from account_usage`).count, 0)
    await work(world, next ?? '', generous)
    assert.equal((await world.db.sql`select from account_usage`).count, 1)
    assert.deepEqual(await countStates(world.db), { planned: 2, posted: 2 })
    assert.deepEqual(await readTold(), [])
    const posts: string[] = []
    await sweepPosts(world.db, async (_, ids) => void posts.push(...ids))
    for (const id of posts) await work(world, id, generous)
    assert.deepEqual(await countStates(world.db), { posted: 4 })
    assert.deepEqual(await readMoney(world.db), { charge: 6_003_600 })
  })

  test('is corrected within the hour by the service’s list, and leaves the budget of its day', async () => {
    await buyWithWrongCost()
    const audit = () => auditDoubted(world.db, world.client, { overdueAfterMs: 60_000 })
    assert.equal(await audit(), 0)
    await collect(world)
    assert.equal(await audit(), 1)
    assert.deepEqual(await readMoney(world.db), { charge: 6_000_000, adjustment: -5_998_800 })
    await watch(world, ['pilates'])
    assert.equal((await planPosts(world)).length, 1)
    assert.equal(await audit(), 0)
  })

  test('is believed when a second one says the same, and corrected with its charge', async () => {
    await buyWithWrongCost()
    await putFaults(world.sandboxUrl, { wrongCost: { times: 1 } })
    const ample = { ...world.settings, budget: { ...generous.budget, maxRunMicros: null } }
    await watch(world, ['pilates'])
    const [postId] = await planPosts({ ...world, settings: ample })
    await work(world, postId ?? '', generous)
    assert.equal((await readUnit()).micros, 6_000_000)
    await collect(world)
    const range = { from: new Date(Date.now() - 3_600_000), to: new Date(Date.now() + 60_000) }
    const options = { overdueAfterMs: 60_000, signal: AbortSignal.timeout(60_000) }
    const { adjusted } = await auditPosted(world.db, world.client, range, options)
    assert.equal(adjusted, 2)
    assert.equal((await readUnit()).micros, 1200)
    await watch(world, ['running'])
    assert.equal((await planPosts(world)).length, 1)
    assert.deepEqual(await readSpendDifferences(world.db.sql), [])
  })
})

test('a price above that of the answer is learned of the service’s list', async (t) => {
  await putFaults(world.sandboxUrl, { dearTask: {} })
  const { client } = await tamper(t, world, (path, body) => {
    if (path.endsWith('/task_post')) for (const task of body.tasks) task.cost = 0.0012
  })
  await work(world, await planPost(world, ['yoga']), { client })
  assert.equal((await readUnit()).micros, 1200)
  await collect(world)
  const range = { from: new Date(Date.now() - 3_600_000), to: new Date(Date.now() + 60_000) }
  const audit = () =>
    auditPosted(world.db, world.client, range, {
      overdueAfterMs: 60_000,
      signal: AbortSignal.timeout(60_000),
    })
  assert.equal((await audit()).adjusted, 1)
  assert.deepEqual(await readMoney(world.db), { charge: 1200, adjustment: 10_800 })
  assert.deepEqual(await readReserved([100]), [12_000])
  await world.db.sql`delete from charged_price`
  await audit()
  assert.deepEqual(await readReserved([100]), [1200], 'once')
})

describe('while the price of a function is not known', () => {
  test('a post whose answer was lost is the one in flight; the others say why they wait', async () => {
    await putFaults(world.sandboxUrl, { dearTask: {}, lost: { path: 'task_post' } })
    const first = await planPost(world, ['yoga'])
    const second = await planPost(world, ['pilates'])
    await work(world, first)
    const [unknown] = await world.db.sql`select state from post where id = ${first}`
    assert.equal(unknown?.state, 'unknown')
    assert.deepEqual(await work(world, second), { kind: 'nothing' })
    const [held] = await world.db.sql`select state, problem from post where id = ${second}`
    assert.equal(held?.state, 'ready')
    assert.match(held?.problem, /^What the service takes for app_searches of the ios_store is not known yet/)
    assert.equal((await readOwnBooks(world)).length, 1)
    // Another function is no concern of it.
    await putFaults(world.sandboxUrl, {})
    await watch(world, ['yoga'], { store: 'android_store' })
    const [other] = await planPosts(world)
    assert.equal((await work(world, other ?? '')).kind, 'settled')
    // Found in the service's list, and what it cost is known.
    const [task] = await world.db.sql`select id, attempt from task where post_id = ${first}`
    const [entry] = (await readOwnBooks(world)).filter(({ tag }) => tag.startsWith(task?.id))
    const found = { ...parseTag(entry?.tag ?? null)!, serviceId: entry?.id ?? '', costMicros: 12_000 }
    await world.db.begin((tx) => adoptTasks(tx, [found], 60_000))
    await world.db.sql`update post set state = 'settled' where id = ${first}`
    assert.deepEqual(
      await claimPost(world.db, second, randomUUID(), {
        ...depsOf(world),
        budget: { maxDayMicros: 20_000, maxMonthMicros: null },
      }),
      { kind: 'empty' },
    )
  })
})
