/**
 * Who is bought with too little money: the one SQL statement against a model of it in a few lines of
 * TypeScript.
 */
import assert from 'node:assert/strict'
import { beforeEach, describe, test } from 'node:test'
import fc from 'fast-check'
import { lasting } from '../support/lasting.ts'
import { recount } from '../support/ledger.ts'
import { createPlanning } from '../support/planning.ts'

const NOW = '2026-03-10 13:00+00'
const PROJECTS = ['a', 'b', 'c'] as const
const OLDEST_FIRST = ['never', 'long ago', 'yesterday'] as const

const planning = lasting(createPlanning)
beforeEach(async () => {
  await planning.clear()
  await planning.setNow(NOW)
})

const cutsOf = async () =>
  Object.fromEntries(
    (
      await planning.db.sql<{ subject: string; reason: string }[]>`
        select t.subject, c.cut as reason from due_slot c join target t on t.id = c.target_id`
    ).map(({ subject, reason }) => [subject, reason]),
  )

/** What each project has reserved for a keyword. */
async function sharesOf(keyword: string): Promise<Record<string, number>> {
  const rows = await planning.db.sql<{ project: string; micros: number }[]>`
    select p.name as project, share_of(k.estimate_micros, cardinality(k.payers), y.place) as micros
    from task k join target t on t.id = k.target_id cross join lateral unnest(k.payers)
      with ordinality as y (project_id, place)
    join project p on p.id = y.project_id
    where t.subject = ${keyword} and k.state = 'planned'`
  return Object.fromEntries(rows.map(({ project, micros }) => [project, micros]))
}

describe('the budget of a project', () => {
  test('a task dearer than all of it is set aside, and does not block the others', async () => {
    await planning.setBudget('a', { dailyMicros: 5000 })
    await planning.watch('a', ['huge'], { depth: 700, priority: 2 })
    await planning.watch('a', ['yoga', 'zen'])
    await planning.plan()
    assert.deepEqual(await planning.plannedKeywords(), ['yoga', 'zen'])
    assert.deepEqual(await cutsOf(), { huge: 'dearer_than_project_budget' })
    const problems = await planning.db
      .sql`select subject, problem from watch_problem where problem <> 'project_without_app'`
    assert.deepEqual([...problems], [{ subject: 'huge', problem: 'dearer_than_budget' }])
  })
})

describe('the queue', () => {
  test('keeps the place of a target when another project joins with a lower priority', async () => {
    await planning.watch('a', ['calm'])
    await planning.watch('a', ['urgent'], { priority: 2 })
    await planning.plan({ maxDayMicros: 0 })
    await planning.watch('b', ['urgent'])
    await planning.plan({ maxDayMicros: 2400 })
    assert.deepEqual(await planning.plannedKeywords(), ['urgent'])
  })

  for (const whose of ['of the project', 'over all projects'])
    test(`has what the budget ${whose} cut before all later ones, in pieces of any size`, async () => {
      const isOwn = whose === 'of the project'
      for (const pieceSlots of [4, 2, 1]) {
        await planning.clear()
        await planning.setBudget('a', { dailyMicros: isOwn ? 8400 : null })
        await planning.watch('a', ['first'])
        await planning.watch('a', ['huge'], { depth: 700 })
        await planning.watch('a', ['second', 'third'])
        await planning.plan(isOwn ? {} : { maxDayMicros: 8400 }, pieceSlots)
        assert.deepEqual(await planning.plannedKeywords(), ['first'])
      }
    })

  test('who was not measured for longest goes first: with too little money all have a turn', async () => {
    const keywords = ['alpha', 'bravo', 'charlie', 'delta', 'echo']
    await planning.setBudget('a', { dailyMicros: 2400 })
    await planning.watch('a', keywords)
    const turns: string[][] = []
    for (const day of ['10', '11', '12', '13', '14']) {
      await planning.setNow(`2026-03-${day} 13:00+00`)
      await planning.closeSlots()
      await planning.plan()
      const planned = await planning.db.sql<{ subject: string }[]>`
        select t.subject from task k join target t on t.id = k.target_id where k.state = 'planned'
          order by t.id`
      turns.push(planned.map(({ subject }) => subject))
      await planning.measure()
    }
    assert.deepEqual(turns, [
      ['alpha', 'bravo'],
      ['charlie', 'delta'],
      ['alpha', 'echo'],
      ['bravo', 'charlie'],
      ['alpha', 'delta'],
    ])
  })
})

describe('a target of several projects', () => {
  test('that only one can pay stands before all later ones of the other, in the next piece too', async () => {
    await planning.setBudget('a', { dailyMicros: 3600 })
    await planning.watch('a', ['first of all', 'yoga'], { depth: 300, priority: 2 })
    await planning.watch('b', ['yoga'], { depth: 300, priority: 2 })
    await planning.watch('a', ['last of all'])
    await planning.setBudget('a', { dailyMicros: 7200 })
    for (const pieceSlots of [3, 2, 1]) {
      await planning.db
        .sql`with again as (insert into period_change select id, first_slot from watch_period) delete
          from task`
      await planning.db.sql`delete from due_slot`
      await recount(planning.db.sql)
      await planning.plan({}, pieceSlots)
      assert.deepEqual(await sharesOf('yoga'), { b: 7200 })
      assert.deepEqual(await cutsOf(), { 'last of all': 'project_budget' })
    }
  })
})

interface Asked {
  readonly project: (typeof PROJECTS)[number]
  readonly keyword: number
  readonly depth: number
  readonly priority: 1 | 2
}

interface Situation {
  readonly asked: readonly Asked[]
  readonly measured: readonly (typeof OLDEST_FIRST)[number][]
  readonly budgets: Readonly<
    Record<
      (typeof PROJECTS)[number],
      { daily: number | null; monthly: number | null; today: number; before: number }
    >
  >
  readonly maxDay: number
  readonly maxMonth: number | null
  readonly maxRun: number | null
}

interface Decision {
  readonly price: number
  readonly cut: string | null
  readonly shares: Readonly<Record<string, number>>
}

const leastOf = (...limits: (number | null)[]) =>
  Math.min(...limits.map((limit) => limit ?? Number.POSITIVE_INFINITY))

/** Walks a queue in order; what is dearer than the whole stands outside it. */
function walk(queue: readonly { keyword: number; price: number }[], whole: number, left: number) {
  let sum = 0
  return new Map(
    queue.map(({ keyword, price }) => {
      if (price > whole) return [keyword, 'too dear'] as const
      sum += price
      return [keyword, sum <= left ? 'affords' : 'short'] as const
    }),
  )
}

/** The model: what is decided for each keyword. */
function decide(situation: Situation): Map<number, Decision> {
  const { asked, measured, budgets } = situation
  const queue = [...Map.groupBy(asked, ({ keyword }) => keyword)]
    .map(([keyword, watches]) => {
      const priority = Math.max(...watches.map((watch) => watch.priority))
      const depth = Math.max(...watches.map((watch) => watch.depth))
      const age = OLDEST_FIRST.indexOf(measured[keyword]!)
      return { keyword, watches, priority, age, price: Math.ceil(depth / 100) * 1200 * priority }
    })
    .sort((x, y) => y.priority - x.priority || x.age - y.age || x.keyword - y.keyword)
  const verdicts = new Map(
    PROJECTS.map((project) => {
      const { daily, monthly, today, before } = budgets[project]
      const left = leastOf(
        daily === null ? null : daily - today,
        monthly === null ? null : monthly - today - before,
      )
      const own = queue.filter(({ watches }) => watches.some((watch) => watch.project === project))
      return [project, walk(own, leastOf(daily, monthly), left)] as const
    }),
  )
  const payersOf = (keyword: number) =>
    PROJECTS.filter((project) => verdicts.get(project)!.get(keyword) === 'affords')
  const spentToday = PROJECTS.reduce((sum, project) => sum + budgets[project].today, 0)
  const spentBefore = PROJECTS.reduce((sum, project) => sum + budgets[project].before, 0)
  const overall = walk(
    queue.filter(({ keyword }) => payersOf(keyword).length > 0),
    leastOf(situation.maxDay, situation.maxMonth, situation.maxRun),
    leastOf(
      situation.maxRun,
      situation.maxDay - spentToday,
      situation.maxMonth === null ? null : situation.maxMonth - spentToday - spentBefore,
    ),
  )
  return new Map(
    queue.map(({ keyword, watches, price }) => {
      const payers = payersOf(keyword)
      const isTooDear = watches.every(({ project }) => verdicts.get(project)!.get(keyword) === 'too dear')
      const beyond = { 'too dear': 'dearer_than_overall_budget', short: 'overall_budget', affords: null }
      const cut =
        payers.length > 0
          ? beyond[overall.get(keyword)!]
          : isTooDear
            ? 'dearer_than_project_budget'
            : 'project_budget'
      const share = Math.floor(price / payers.length)
      const shares = payers.map((project, i) => [project, share + (i === 0 ? price % payers.length : 0)])
      return [keyword, { price, cut, shares: cut === null ? Object.fromEntries(shares) : {} }]
    }),
  )
}

const micros = (max: number) => fc.integer({ min: 0, max })
const limit = fc.option(micros(20_000))
const budget = fc.record({ daily: limit, monthly: limit, today: micros(6000), before: micros(6000) })
const situations: fc.Arbitrary<Situation> = fc.record({
  asked: fc.uniqueArray(
    fc.record({
      project: fc.constantFrom(...PROJECTS),
      keyword: fc.nat({ max: 9 }),
      depth: fc.constantFrom(1, 100, 101, 250, 700),
      priority: fc.constantFrom(1, 2),
    }),
    { maxLength: 20, selector: ({ project, keyword }) => `${project} ${keyword}` },
  ),
  measured: fc.array(fc.constantFrom(...OLDEST_FIRST), { minLength: 10, maxLength: 10 }),
  budgets: fc.record({ a: budget, b: budget, c: budget }),
  maxDay: micros(60_000),
  maxMonth: fc.option(micros(80_000)),
  maxRun: fc.option(micros(20_000)),
})

/** Keywords are made first, so that their targets have the order of their numbers. */
async function arrange({ asked, measured, budgets }: Situation): Promise<void> {
  const { sql } = planning.db
  await sql`
    insert into target (store, function, subject, location_code, language_code)
    select 'ios_store', 'app_searches', n::text, 2840, 'en' from generate_series(0, 9) n`
  await sql`
    update target t set captured_at = case m.age when 'yesterday' then storerank_now() - interval '24 hours'
      when 'long ago' then storerank_now() - interval '2400 hours' end
    from unnest(${[...measured]}::text[]) with ordinality m (age, n) where t.subject = (m.n - 1)::text`
  for (const project of PROJECTS) {
    const { daily, monthly, today, before } = budgets[project]
    await planning.setBudget(project, { dailyMicros: daily, monthlyMicros: monthly })
    await planning.spend(project, today, NOW)
    await planning.spend(project, before, '2026-03-02 12:00+00')
  }
  for (const { project, keyword, depth, priority } of asked)
    await planning.watch(project, [String(keyword)], { depth, priority })
}

describe('for any watchlist and any budgets', () => {
  test('the plan buys, cuts and splits as the model and the dry run say, in pieces of any size', async () => {
    await fc.assert(
      fc.asyncProperty(situations, fc.integer({ min: 1, max: 12 }), async (situation, pieceSlots) => {
        await planning.clear()
        await arrange(situation)
        const expected = decide(situation)
        const { maxDay, maxMonth, maxRun } = situation
        const overall = { maxDayMicros: maxDay, maxMonthMicros: maxMonth, maxRunMicros: maxRun }
        const preview = await planning.preview(overall)
        const plan = await planning.plan(overall, pieceSlots)
        assert.deepEqual(await decisionsInDatabase(), new Map([...expected].sort(([x], [y]) => x - y)))
        assert.deepEqual(
          {
            planned: preview.planned,
            micros: preview.plannedMicros,
            cut: preview.cut,
            cutMicros: preview.cutMicros,
          },
          { planned: plan.planned, micros: plan.plannedMicros, cut: plan.cut, cutMicros: plan.cutMicros },
        )
        assert.equal(plan.due, expected.size)
        const bought = preview.lines.filter((line) => line.cut === null)
        for (const { project, costMicros } of bought) {
          const shares = [...expected.values()].map((decision) => decision.shares[project] ?? 0)
          assert.equal(
            costMicros,
            shares.reduce((sum, share) => sum + share, 0),
          )
        }
        assert.equal(
          bought.reduce((sum, line) => sum + line.costMicros, 0),
          plan.plannedMicros,
        )
      }),
      { numRuns: 10 },
    )
  })
})

async function decisionsInDatabase(): Promise<Map<number, Decision>> {
  const rows = await planning.db.sql<(Decision & { keyword: number })[]>`
    select t.subject::int as keyword, coalesce(k.estimate_micros, b.price_micros) as price, b.cut,
      coalesce((
        select jsonb_object_agg(p.name, share_of(k.estimate_micros, cardinality(k.payers), y.place))
        from unnest(k.payers) with ordinality as y (project_id, place) join project p on p.id = y.project_id),
          '{}') as shares
    from target t left join task k on k.target_id = t.id left join due_slot b on b.target_id = t.id
    where k.id is not null or b.cut is not null
    order by 1`
  return new Map(rows.map(({ keyword, ...decision }) => [keyword, decision]))
}
