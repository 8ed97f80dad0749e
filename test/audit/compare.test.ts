import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { auditPosted } from '../../src/audit/audit.ts'
import type { TaskIdRow } from '../../src/service/task-ids.ts'
import { countWaiting, forgetAll, readMoney, readOwnBooks, watch } from '../post/posting.ts'
import { recount } from '../support/ledger.ts'
import { buy, collect, watchKeywords } from '../support/stages.ts'
import { until, type World } from '../support/world.ts'
import {
  assertBooksAgree,
  auditAll,
  audited,
  DAY_MS,
  detail,
  HOUR_MS,
  measure,
  postRaw,
  range,
  readProblems,
  rowOf,
  SEARCHES,
  search,
  useWorlds,
  withHistory,
  withRows,
} from './auditing.ts'

const openWorld = useWorlds()

describe('books that agree', () => {
  test('are left as they are, by the first audit and by the next', async (t) => {
    const world = await openWorld(t)
    await measure(world, ['yoga', 'zzz'], { depth: 700 })
    const before = await readMoney(world.db)
    for (let audits = 0; audits < 2; audits += 1) {
      assert.deepEqual(await auditAll(world), audited({ listed: 2 }))
    }
    assert.deepEqual(await readMoney(world.db), before)
    assert.deepEqual(await readProblems(world), [])
  })
})

describe('another cost', () => {
  test('is adjusted: a refund that raw pages do not tell of', async (t) => {
    const world = await openWorld(t)
    await measure(world, ['yoga', 'zzz'], { store: 'android_store', depth: 200 })
    assert.equal((await auditAll(world)).adjusted, 1)
    await assertBooksAgree(world)
    assert.deepEqual(await readProblems(world), [
      {
        kind: 'cost',
        subject: 'zzz',
        tasks: 1,
        message:
          'The service took $0.0024 for this task, and our books said $0.0084. They were adjusted by ' +
          '-$0.006, so that they say the same.',
      },
    ])
    const [day] = await world.db
      .sql`select charged_usd, refunded_usd, adjusted_usd, spent_usd from spend_daily`
    assert.deepEqual(
      { ...day },
      { charged_usd: '0.016800', refunded_usd: '0.000000', adjusted_usd: '-0.006000', spent_usd: '0.010800' },
    )
  })

  test('is adjusted: what a task that was paid twice gave back', async (t) => {
    const world = await openWorld(t)
    await measure(world, ['zzz'], { depth: 700 })
    const [own] = await readOwnBooks(world)
    await postRaw(world, SEARCHES, [search({ keyword: 'zzz', depth: 700, tag: own?.tag })])
    assert.deepEqual(await auditAll(world), audited({ listed: 2, recorded: 1, adjusted: 1 }))
    assert.deepEqual(await readMoney(world.db), {
      adjustment: -7200,
      charge: 8400,
      duplicate: 8400,
      refund: -7200,
    })
    await assertBooksAgree(world)
    assert.deepEqual(
      (await readProblems(world)).map(({ kind, subject }) => [kind, subject]),
      [['cost', 'zzz']],
    )
  })

  test('is compared once the service has ended it and we have stored it', async (t) => {
    const world = await openWorld(t)
    await watchKeywords(world, ['zzz'], { store: 'android_store', depth: 200 })
    await buy(world)
    const cheaper = withRows(world, (row) => ({ ...row, costMicros: 1 }))
    assert.equal((await auditAll(world, cheaper)).adjusted, 0)
    await collect(world)
    const unfinished = withRows(world, (row) => ({ ...row, datetimeDone: null, costMicros: 1 }))
    assert.equal((await auditAll(world, unfinished)).adjusted, 0)
    assert.deepEqual(await readProblems(world), [])
    assert.equal((await auditAll(world, cheaper)).adjusted, 1)
  })

  test('is adjusted upwards as well, and again when the service changes its mind', async (t) => {
    const world = await openWorld(t)
    await measure(world, ['yoga'], { depth: 100 })
    const costing = (costMicros: number) => withRows(world, (row) => ({ ...row, costMicros }))
    const adjustments = async () => (await readMoney(world.db)).adjustment ?? null
    for (const [costMicros, adjustment] of [
      [5000, 3800],
      [5000, 3800],
      [700, -500],
      [1200, 0],
      [1200, 0],
      [1201, 1],
    ] as const) {
      await auditAll(world, costing(costMicros))
      assert.equal(await adjustments(), adjustment)
      assert.equal((await readProblems(world)).length, adjustment === 0 ? 0 : 1)
    }
  })

  test('counts in the budgets on the day of its charge, and not twice against the balance', async (t) => {
    const world = await openWorld(t)
    await watchKeywords(world, ['yoga'], { depth: 100 })
    await world.db.sql`update project set daily_usd = 1, monthly_usd = 10`
    await buy(world)
    await collect(world)
    const asked = new Date()
    const dearer = withRows(world, (row) => ({ ...row, costMicros: 5000 }))
    await world.db.sql`
      insert into account_usage (fetched_at, login, balance_micros, prices)
        values (${asked}, 'sandbox', 1000000, '[]')`
    await auditAll(world, dearer)
    const used = async () => {
      const rows = await world.db.sql<{ limited_by: string; used_micros: number }[]>`
        select limited_by, used_micros from overall_money(storerank_now(), 5000000, 50000000)
        union all select 'project', day_micros from project_money(storerank_now())`
      return Object.fromEntries(rows.map((row) => [row.limited_by, row.used_micros]))
    }
    assert.deepEqual(await used(), {
      MAX_USD_PER_DAY: 5000,
      MAX_USD_PER_MONTH: 5000,
      "the account's balance": 0,
      project: 5000,
    })
    await world.db.sql`update account_usage set fetched_at = fetched_at - interval '1 hour', taken_micros = 0`
    assert.equal((await used())["the account's balance"], 5000)

    await world.db.sql`update charge set at = at - interval '40 days'`
    await recount(world.db.sql)
    await auditAll(
      world,
      withRows(world, (row) => ({ ...row, costMicros: 6000 })),
    )
    assert.equal((await used()).project, 0)
  })

  test('is split like its charge: every project pays its share, and the shares add up', async (t) => {
    const world = await openWorld(t)
    const cost = fc.integer({ min: 0, max: 99_999 })
    await fc.assert(
      fc.asyncProperty(cost, fc.integer({ min: 1, max: 5 }), async (costMicros, payers) => {
        await forgetAll(world)
        await world.db.sql`truncate audit_difference`
        for (let n = 1; n <= payers; n += 1) await watch(world, ['yoga'], { project: `p${n}` })
        await buy(world)
        await collect(world)
        const [own] = await readOwnBooks(world)
        const client = withRows(world, (row) => (row.id === own?.id ? { ...row, costMicros } : null))
        await auditAll(world, client)
        await auditAll(world, client)
        const shares = await world.db.sql<{ project: string; micros: number; adjustment: number | null }[]>`
          select p.name as project, sum(c.amount_micros)::bigint as micros,
            sum(c.amount_micros) filter (where c.kind = 'adjustment')::bigint as adjustment
          from charge c join project p on p.id = c.project_id group by p.name order by p.name`
        assert.equal(shares.length, payers)
        const sum = (numbers: readonly number[]) => numbers.reduce((total, one) => total + one, 0)
        assert.equal(sum(shares.map((share) => share.micros)), costMicros)
        const adjusted = shares.map((share) => share.adjustment ?? 0)
        assert.equal(sum(adjusted), costMicros - 1200)
        assert.equal(new Set(adjusted.slice(1)).size, payers > 1 ? 1 : 0)
        assert.ok(Math.max(...adjusted) - Math.min(...adjusted) < payers)
      }),
      { numRuns: 8 },
    )
  })
})

test('two audits go one after the other, so that they never wait for each other in a circle', async (t) => {
  const world = await openWorld(t)
  const waiting = await world.db.begin(async (tx) => {
    await tx`select wait_for_lock('audit')`
    const second = auditAll(world)
    await until('the second audit waits', async () => (await countWaiting(world)) > 0)
    return [second]
  })
  assert.equal((await waiting[0])?.listed, 0)
})

describe('a task that the service does not list', () => {
  async function buyOne(t: TestContext): Promise<World> {
    const world = await openWorld(t)
    await measure(world, ['yoga'], { depth: 100 })
    return world
  }
  const nothing = (world: World) => withRows(world, () => null)

  test('is missing, until it is listed again', async (t) => {
    const world = await buyOne(t)
    assert.equal((await auditAll(world, nothing(world))).missing, 1)
    assert.equal((await auditAll(world, nothing(world))).missing, 1)
    assert.deepEqual(await readProblems(world), [
      {
        kind: 'missing',
        subject: 'yoga',
        tasks: 1,
        message:
          'We paid $0.0012 for this task, and the service does not list it. Our charge stays; ask the ' +
          'service what became of the task.',
      },
    ])
    assert.deepEqual(await readMoney(world.db), { charge: 1200 })
    assert.equal((await auditAll(world)).missing, 0)
    assert.deepEqual(await readProblems(world), [])
  })

  test('is looked for on the day it was sent, whenever it was charged', async (t) => {
    const world = await buyOne(t)
    await world.db.sql`update post set send_before = send_before - interval '1 day'`
    assert.equal((await auditAll(world, nothing(world))).missing, 0)
    await world.db.sql`update post set send_before = send_before + interval '1 day'`
    await world.db.sql`update charge set at = at + interval '3 days'`
    assert.equal((await auditAll(world, nothing(world))).missing, 1)
  })

  test('may be listed just outside the day: the clocks differ', async (t) => {
    const world = await buyOne(t)
    const [sent] = await world.db.sql<{ at: Date; id: string }[]>`
      update post set send_before = send_before - interval '1 hour'
      returning send_before as at, (select service_id from task) as id`
    assert.ok(sent !== undefined)
    const day = { from: new Date(sent.at.getTime() - HOUR_MS), to: new Date(sent.at.getTime() + 1) }
    const listed = rowOf(sent.id, { datetimePosted: new Date(day.to.getTime() + 20 * 60_000) })
    const late = withHistory(world, async ({ from, to }) =>
      [listed].filter((row) => row.datetimePosted >= from && row.datetimePosted <= to),
    )
    const { missing } = await auditPosted(world.db, late, day, { overdueAfterMs: HOUR_MS })
    assert.equal(missing, 0)
  })

  test('paid twice, which was learned later, is looked for on the day of its first service id', async (t) => {
    const world = await buyOne(t)
    const sentAt = new Date(Date.now() - DAY_MS)
    await world.db.sql`update post set send_before = ${sentAt}`
    const [own] = await readOwnBooks(world)
    assert.ok(own !== undefined)
    const [first, second] = [own.id, 'second'].map((id) =>
      rowOf(id, { tag: own.tag, datetimePosted: sentAt }),
    )
    assert.ok(first !== undefined && second !== undefined)
    const auditDay = (ahead: number, rows: readonly TaskIdRow[]) => {
      const service = withHistory(world, async ({ from, to }) =>
        rows.filter((row) => row.datetimePosted >= from && row.datetimePosted <= to),
      )
      return auditPosted(world.db, service, range(ahead), { overdueAfterMs: HOUR_MS })
    }
    assert.equal((await auditDay(-DAY_MS, [first, second])).recorded, 1)
    assert.equal((await auditDay(0, [first, second])).missing, 0)
    assert.equal((await auditDay(-DAY_MS, [first])).missing, 1)
    assert.equal((await readProblems(world))[0]?.subject, 'yoga')

    await world.db.sql`update task set attempt = attempt + 1`
    assert.equal((await auditDay(-DAY_MS, [first])).missing, 0)
  })

  for (const hours of [-5, 5]) {
    test(`is found missing by a clock of the service that is ${hours} hours off, no other`, async (t) => {
      const world = await openWorld(t, { sandbox: { faults: { clockOffsetMs: hours * HOUR_MS } } })
      await watchKeywords(world, ['yoga', 'tea'], { depth: 100 })
      await buy(world)
      const lost = (await world.db.sql`select service_id from task`)[0]?.service_id
      const client = withRows(world, (row) => (row.id === lost ? null : row))
      const { listed, missing, unknown } = await auditAll(world, client, hours * HOUR_MS)
      assert.deepEqual({ listed, missing, unknown }, { listed: 1, missing: 1, unknown: 0 })
      assert.equal((await auditAll(world, world.client, hours * HOUR_MS)).missing, 0)
      assert.deepEqual(await readProblems(world), [])
    })
  }

  test('is not missed when it was sent again later: nobody knows when it was sent first', async (t) => {
    const world = await buyOne(t)
    await world.db.sql`update task set attempt = attempt + 1, service_id = 'later'`
    await world.db.sql`
      insert into charge (kind, project_id, amount_micros, target_id, slot, service_id)
      select 'charge', project_id, 1200, target_id, slot, 'later' from charge`
    const later = withHistory(world, async () => [rowOf('later')])
    assert.equal((await auditAll(world, later)).missing, 0)
  })
})

describe('a task that no charge of ours knows', () => {
  test('of ours gets its charge back, and is compared', async (t) => {
    const world = await openWorld(t)
    await measure(world, ['zzz', 'yoga'], { depth: 700 })
    await world.db.sql`delete from charge`
    await recount(world.db.sql)
    assert.deepEqual(await auditAll(world), audited({ listed: 2, recorded: 2, adjusted: 2 }))
    assert.deepEqual(Object.keys(await readMoney(world.db)), ['adjustment', 'charge'])
    await assertBooksAgree(world)
    assert.deepEqual(await auditAll(world), audited({ listed: 2 }))
    const states = await world.db.sql`select distinct state from task`
    assert.deepEqual([...states], [{ state: 'collected' }])
  })

  test('of ours gets its charge back also while its result is awaited', async (t) => {
    const world = await openWorld(t)
    await watchKeywords(world, ['yoga', 'tea'], { depth: 100 })
    await watchKeywords(world, ['yoga'], { depth: 100, project: 'wellness' })
    await buy(world)
    const readCharges = () => world.db.sql`
      select service_id, project_id, kind, amount_micros from charge order by service_id, project_id`
    const before = await readCharges()
    await world.db.sql`delete from charge`
    await recount(world.db.sql)
    assert.deepEqual(await auditAll(world), audited({ listed: 2, recorded: 2 }))
    assert.deepEqual(await readCharges(), before)
    await assertBooksAgree(world)
    assert.deepEqual(await readProblems(world), [])
    assert.equal((await collect(world)).stored, 2)
  })

  test('of others is counted in one row per path and kind of tag, and tells whose it may be', async (t) => {
    const world = await openWorld(t)
    await postRaw(world, SEARCHES, [search({ tag: 'theirs-1' }), search({}), search({ tag: 'theirs-2' })])
    const details = '/v3/app_data/ios_store/app_info/task_post'
    const [info] = await postRaw(world, details, [detail({ tag: '' })])
    const storerank = '019ffe40-5038-79f3-b915-9d60b7ec36b2.1'
    const [other] = await postRaw(world, SEARCHES, [search({ tag: storerank })])
    for (let audits = 0; audits < 2; audits += 1) {
      assert.deepEqual(await auditAll(world), audited({ listed: 5, unknown: 5 }))
    }
    const today = new Date().toISOString().slice(0, 10)
    const their =
      'The tag is not ours: another program uses the account. If you know of none, change its password.'
    const problems = await readProblems(world)
    const [few] = problems.filter((problem) => problem.tasks > 1)
    assert.match(
      few?.message ?? '',
      /^The service took \$0\.0036 for 3 tasks that this database knows nothing of/,
    )
    assert.deepEqual(
      problems.filter((problem) => problem.tasks === 1).map((problem) => problem.message),
      [
        `The service took $0.0006 for 1 task that this database knows nothing of, posted on ${today}; ` +
          `the first is ${info}. ${their}`,
        `The service took $0.0012 for 1 task that this database knows nothing of, posted on ${today}; ` +
          `the first is ${other}. The tag is that of a storerank: another one uses the account, or this ` +
          'database was restored from a copy that is older than the task. When `storerank status` says ' +
          'that nothing is posted, it was: run `storerank recover`.',
      ],
    )
    assert.equal(problems.length, 3)
    assert.ok(few?.message.endsWith(their))
    assert.deepEqual(await readMoney(world.db), {})
  })
})
