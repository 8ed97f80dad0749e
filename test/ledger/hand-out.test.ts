/**
 * Which ready lists are asked: those of endpoints of which something is outstanding, found without reading
 * what waits.
 */
import assert from 'node:assert/strict'
import { afterEach, before, test } from 'node:test'
import fc from 'fast-check'
import { type Endpoint, endLeasesOfFuture, listOutstandingEndpoints } from '../../src/ledger/hand-out.ts'
import { FUNCTION_RULES } from '../../src/service/functions.ts'
import { lasting } from '../support/lasting.ts'
import { createPlanning } from '../support/planning.ts'
import { countTasksRead } from '../support/tasks-read.ts'

const ENDPOINTS = Object.entries(FUNCTION_RULES).flatMap(([store, rules]) =>
  Object.keys(rules).map((fn) => ({ store, fn })),
)
const WAITING = 20_000
const LEASED = 300
/** A lookup of each endpoint, and the planner itself looks at both ends of an index. */
const CONSTANT = 30

const planning = lasting(createPlanning)
before(async () => {
  const { sql } = planning.db
  await sql`alter table task set (autovacuum_enabled = off)`
  await sql`
    insert into target (store, function, subject, location_code, language_code)
    select store, function, 'subject', 2840, 'en'
    from unnest(${ENDPOINTS.map(({ store }) => store)}::text[],
      ${ENDPOINTS.map(({ fn }) => fn)}::text[]) as e (store, function)`
})
afterEach(() => planning.db.sql`truncate task, post`)

type Lease = 'none' | 'ended' | 'runs'

interface Some {
  readonly endpoint: (typeof ENDPOINTS)[number]
  readonly state: string
  readonly lease: Lease
  readonly tasks: number
}

/** Tasks of an endpoint, as `adoptTasks` leaves them and as they are leased. */
async function add({ endpoint: { store, fn }, state, lease, tasks }: Some): Promise<void> {
  await planning.db.sql`
    insert into task (target_id, slot, slot_ends_at, state, priority, estimate_micros, payers, endpoint,
      fetching_until, ended_at)
    select t.id, timestamptz '2026-01-01' + make_interval(mins => n + (select count(*)::int from task)),
      now(), ${state}, 1, 1200, '{1}',
      case when ${state} not in ('planned', 'posting') then endpoint_of(t.store, t.function) end,
      case ${lease}::text when 'ended' then clock_timestamp() - interval '1 minute' when 'runs'
        then clock_timestamp() + interval '1 hour' end,
      case when ${state} = 'collected' then now() end
    from target t cross join generate_series(1, ${tasks}::int) n where t.store = ${store}
      and t.function = ${fn}`
}

/** As it was asked before the tasks knew their endpoint. */
function listByTargets(): Promise<Endpoint[]> {
  return planning.db.sql<Endpoint[]>`
    select distinct store, function from (
      select t.store, t.function from task k join target t on t.id = k.target_id
      where k.state = 'posted' and (k.fetching_until is null or k.fetching_until < clock_timestamp())
      union all
      select store, function from post where state = 'unknown'
    ) as outstanding
    order by 1, 2`
}

test('a lease of a clock that was ahead ends with it, a pause of the service does not', async () => {
  const { sql } = planning.db
  const [leased, paused] = ENDPOINTS
  assert.ok(leased !== undefined && paused !== undefined)
  await add({ endpoint: paused, state: 'posted', lease: 'runs', tasks: 1 })
  await sql`update task set problem = 'Not ready.'`
  await add({ endpoint: leased, state: 'posted', lease: 'runs', tasks: 1 })
  await endLeasesOfFuture(sql)
  assert.deepEqual([...(await listOutstandingEndpoints(sql))], [{ store: leased.store, function: leased.fn }])
})

test('each endpoint has a number of its own', async () => {
  const rows = await planning.db.sql<
    { endpoint: number | null }[]
  >`select endpoint_of(store, function) as endpoint from target`
  const numbers = rows.map(({ endpoint }) => endpoint)
  assert.equal(new Set(numbers.filter((endpoint) => endpoint !== null)).size, ENDPOINTS.length)
})

test('an endpoint is outstanding by a posted task without a lease, or by an unknown post', async () => {
  const { sql } = planning.db
  const some = fc.record({
    endpoint: fc.constantFrom(...ENDPOINTS),
    state: fc.constantFrom(
      'planned',
      'posting',
      'posted',
      'posted',
      'posted',
      'collected',
      'failed',
      'dropped',
    ),
    lease: fc.constantFrom<Lease>('none', 'ended', 'runs', 'runs'),
    tasks: fc.integer({ min: 1, max: 3 }),
  })
  const posts = fc.array(
    fc.record({
      endpoint: fc.constantFrom(...ENDPOINTS),
      state: fc.constantFrom('ready', 'settled', 'unknown'),
    }),
    { maxLength: 2 },
  )
  await fc.assert(
    fc.asyncProperty(fc.array(some, { maxLength: 8 }), posts, async (tasks, posted) => {
      await sql`truncate task, post`
      for (const each of tasks) await add(each)
      for (const { endpoint, state } of posted)
        await sql`insert into post (store, function, state)
          values (${endpoint.store}, ${endpoint.fn}, ${state})`
      assert.deepEqual([...(await listOutstandingEndpoints(sql))], [...(await listByTargets())])
    }),
    { numRuns: 20 },
  )
})

for (const statistics of ['from before anything was posted', 'of now']) {
  test(`what waits at the service is not read, with statistics ${statistics}`, async () => {
    const { sql } = planning.db
    const [first, second, third, fourth] = ENDPOINTS
    assert.ok(first && second && third && fourth)
    await add({ endpoint: first, state: 'planned', lease: 'none', tasks: WAITING })
    await sql`vacuum analyze task`
    await sql`update task set state = 'posted', endpoint = endpoint_of(${first.store}, ${first.fn})`
    await add({ endpoint: second, state: 'posted', lease: 'runs', tasks: LEASED })
    await add({ endpoint: third, state: 'posted', lease: 'ended', tasks: WAITING })
    await add({ endpoint: fourth, state: 'collected', lease: 'none', tasks: WAITING })
    if (statistics === 'of now') await sql`vacuum analyze task`
    const before = await countTasksRead(planning.db)
    const listed = await listOutstandingEndpoints(sql)
    const read = (await countTasksRead(planning.db)) - before
    assert.deepEqual(
      listed.map((each) => `${each.store} ${each.function}`),
      [first, third].map(({ store, fn }) => `${store} ${fn}`).sort(),
    )
    assert.ok(read <= LEASED + CONSTANT, `${read} tasks were read`)
  })
}
