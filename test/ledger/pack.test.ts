/**
 * Packing: every planned task into exactly one post of its endpoint, at most 100 to a post, the urgent ones
 * first.
 */
import assert from 'node:assert/strict'
import { beforeEach, describe, test } from 'node:test'
import fc from 'fast-check'
import { packTasks } from '../../src/ledger/plan-tasks.ts'
import { lasting } from '../support/lasting.ts'
import { createPlanning } from '../support/planning.ts'

const planning = lasting(createPlanning)
beforeEach(() => planning.clear())

interface Group {
  readonly store: string
  readonly function: string
  readonly priority: number
  readonly tasks: number
}

/** Planned tasks without a post, as a release leaves them. */
async function release({ store, function: of, priority, tasks }: Group, endsIn = '1 hour'): Promise<void> {
  await planning.db.sql`
    with made as (
      insert into target (store, function, subject, location_code, language_code)
      select ${store}, ${of}, uuid_v7()::text, 2840, 'en' from generate_series(1, ${tasks}::int) returning id
    )
    insert into task (target_id, slot, slot_ends_at, priority, estimate_micros, payers)
    select id, now(), now() + ${endsIn}::interval, ${priority}, 1200, '{1}' from made`
}

const pack = () => planning.db.begin((tx) => packTasks(tx))

interface Packed {
  readonly id: string
  readonly endpoints: number
  readonly fits: boolean
  readonly tasks: number
  readonly priorities: number[]
}

const packed = () =>
  planning.db.sql<Packed[]>`
    select p.id, count(distinct (t.store, t.function)) as endpoints,
      bool_and((p.store, p.function) = (t.store, t.function)) as fits, count(*) as tasks,
      array_agg(k.priority order by k.priority desc) as priorities
    from post p join task k on k.post_id = p.id join target t on t.id = k.target_id group by p.id`

describe('packing', () => {
  test('puts any number of tasks into as few posts as there can be, of one endpoint each', async () => {
    const group = fc.record({
      store: fc.constantFrom('ios_store', 'android_store'),
      function: fc.constantFrom('app_searches', 'app_info'),
      priority: fc.constantFrom(1, 2),
      tasks: fc.oneof(fc.constantFrom(1, 99, 100, 101, 200, 201), fc.integer({ min: 1, max: 320 })),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(group, { maxLength: 6 }), async (groups) => {
        await planning.clear()
        for (const one of groups) await release(one)
        const ids = await pack()
        const posts = await packed()
        assert.deepEqual(new Set(ids), new Set(posts.map(({ id }) => id)))
        assert.ok(posts.every(({ endpoints, fits, tasks }) => endpoints === 1 && fits && tasks <= 100))
        const byEndpoint = Map.groupBy(groups, (one) => `${one.store} ${one.function}`).values()
        const least = [...byEndpoint].map((own) =>
          Math.ceil(own.reduce((sum, one) => sum + one.tasks, 0) / 100),
        )
        assert.equal(
          posts.length,
          least.reduce((sum, count) => sum + count, 0),
        )
        assert.equal(
          posts.reduce((sum, { tasks }) => sum + tasks, 0),
          groups.reduce((sum, one) => sum + one.tasks, 0),
        )
        assert.deepEqual(await pack(), [])
      }),
      { numRuns: 6 },
    )
  })

  test('begins with priority 2, and returns the posts in that order', async () => {
    const searches = { store: 'ios_store', function: 'app_searches' }
    await release({ ...searches, priority: 1, tasks: 150 })
    await release({ ...searches, priority: 2, tasks: 120 })
    await release({ ...searches, priority: 1, tasks: 30 })
    const ids = await pack()
    const priorities = new Map((await packed()).map((post) => [post.id, post.priorities]))
    const expected = [Array(100).fill(2), [...Array(20).fill(2), ...Array(80).fill(1)], Array(100).fill(1)]
    assert.deepEqual(
      ids.map((id) => priorities.get(id)),
      expected,
    )
  })

  test('touches neither what has a post, nor what is posted, nor what came too late', async () => {
    const searches = { store: 'ios_store', function: 'app_searches', priority: 1 }
    await release({ ...searches, tasks: 3 })
    const [first] = await pack()
    await release({ ...searches, tasks: 2 })
    await planning.db.sql`update task set state = 'posted' where post_id is null`
    await release({ ...searches, tasks: 2 }, '0 seconds')
    assert.deepEqual(await pack(), [])
    assert.deepEqual(
      (await packed()).map(({ id, tasks }) => [id, tasks]),
      [[first, 3]],
    )
  })
})
