/** Rows of the two lists that take a query: what failed in the past day, and what was ever posted. */

import assert from 'node:assert/strict'
import type { TaskIdQuery } from '../../src/service/task-ids.ts'
import { DAY_MS, type Json, stamp } from '../sandbox/caller.ts'
import { ASK } from './ask.ts'
import { bySide, covers } from './covers.ts'
import { byForm, camel } from './form.ts'
import { AMPLE, everyTest, once, openWorld, postOne, presentOf, type World } from './world.ts'

const NOTHING = 'xkcdqwrt zzgrblk'
const HOUR_MS = 3_600_000
/** How long a failure is listed. */
const LISTED_MS = byForm(DAY_MS, 7 * DAY_MS)

// What failed

/**
 * Four tasks that found nothing, an hour apart, the oldest as long ago as the list goes, and one webhook that
 * nobody took.
 */
const openFailed = once(async () => {
  const world = await openWorld(everyTest, AMPLE)
  const startMs = world.clock.nowMs
  for (let index = 0; index < 4; index += 1) {
    await postOne(world.client, { subject: NOTHING, tag: `${index}` })
    world.clock.nowMs += HOUR_MS
  }
  world.clock.nowMs = startMs + LISTED_MS
  return world
})

type Ask = (query: Json) => Promise<readonly Json[]>
/** What each side is answered to a query under the names of the wire, and the moment that it is. */
type Asked = { fetch: Ask; client: Ask; nowMs: number }

const INSTANTS: Readonly<Record<string, string>> = { datetime_from: 'from', datetime_to: 'to' }
const toOurs = (query: Json): Json =>
  Object.fromEntries(
    Object.entries(query).map(([name, value]) => {
      const ours = INSTANTS[name]
      return ours ? [ours, new Date(String(value).replace(' ', 'T').replace(' ', ''))] : [camel(name), value]
    }),
  )

/** The rows of an answer, or its refusal as an error. */
const rowsAt = async (world: World, path: string, query: Json): Promise<readonly Json[]> => {
  const [{ status_code, status_message, result }] = (await world.post(path, [query])).tasks
  if (status_code !== 20000) throw new Error(`${status_code} ${status_message}`)
  return result
}

const askFailed = async (): Promise<Asked> => {
  const world = await openFailed()
  return {
    nowMs: world.clock.nowMs,
    fetch: (query) => rowsAt(world, '/v3/app_data/errors', query),
    client: (query) => world.client.listFailedTasks(toOurs(query)),
  }
}

const idsOf = (rows: readonly Json[]): string[] => rows.map(({ id }) => id)

type QueryRule = {
  /** What its answer makes of the answer to no query at all. */
  query(nowMs: number): Json
  lists(all: string[]): string[]
  /** Queries that break the rule. */
  refuses?(nowMs: number): readonly Json[]
}

/** A field of a query: what it does to the list, and what it may not be. */
const coverQuery =
  (ask: () => Promise<Asked>) =>
  (row: string, sentence: string, { query, lists, refuses = () => [] }: QueryRule): void => {
    const name = row.split('.').at(-1) ?? ''
    const check = async (side: 'fetch' | 'client', refusal: RegExp) => {
      const { nowMs, [side]: list } = await ask()
      assert.deepEqual(idsOf(await list(query(nowMs))), lists(idsOf(await list({}))))
      for (const each of refuses(nowMs)) await assert.rejects(async () => list(each), refusal)
    }
    covers(row, sentence, {
      fetch: () => check('fetch', new RegExp(`40501 Invalid Field: '${name}( - [a-z ]+)?'\\.`)),
      client: () => check('client', new RegExp(`${name}|${INSTANTS[name]}`)),
    })
  }

const coverFailed = coverQuery(askFailed)
const all = (ids: string[]): string[] => ids

coverFailed('failed_tasks.limit', 'is how many are listed, 1000 at most', {
  query: () => ({ limit: 2 }),
  lists: (ids) => ids.slice(0, 2),
  refuses: () => [{ limit: 1001 }, { limit: 0 }, { limit: 1.5 }],
})
coverFailed('failed_tasks.limit', 'may be its maximum', { query: () => ({ limit: 1000 }), lists: all })
coverFailed('failed_tasks.offset', 'is how many are skipped', {
  query: () => ({ offset: 3 }),
  lists: (ids) => ids.slice(3),
  refuses: () => [{ offset: -1 }],
})
coverFailed('failed_tasks.offset', 'is 0 when it is left out', { query: () => ({ offset: 0 }), lists: all })
coverFailed('failed_tasks.filtered_function', 'lists only what failed there', {
  query: () => ({ filtered_function: 'app_data/task_get/advanced' }),
  lists: all,
})
coverFailed('failed_tasks.filtered_function', 'lists nothing of another function', {
  query: () => ({ filtered_function: 'postback_url' }),
  lists: () => [],
  refuses: () => [{ filtered_function: 7 }],
})
coverFailed(
  'failed_tasks.datetime_from',
  `lists what failed since then, within the past ${LISTED_MS / HOUR_MS} hours`,
  {
    query: (nowMs) => ({ datetime_from: stamp(nowMs - LISTED_MS + HOUR_MS) }),
    lists: (ids) => ids.slice(1),
    refuses: (nowMs) => [
      { datetime_from: stamp(nowMs - LISTED_MS - 1000) },
      { datetime_from: stamp(nowMs + 1000) },
    ],
  },
)
coverFailed(
  'failed_tasks.datetime_to',
  `lists what failed until then, within the past ${LISTED_MS / HOUR_MS} hours`,
  {
    query: (nowMs) => ({ datetime_to: stamp(nowMs - LISTED_MS + 2 * HOUR_MS) }),
    lists: (ids) => ids.slice(0, 3),
    refuses: (nowMs) => [
      { datetime_to: stamp(nowMs - LISTED_MS - 1000) },
      { datetime_to: stamp(nowMs + 1000) },
    ],
  },
)
covers(
  'statement.a_task_absent_from_the_list',
  'either did not fail or is not done',
  bySide(
    async (world, side) => {
      const [, failing] = await ASK[side].post(world, [{}, { keyword: NOTHING }])
      assert.deepEqual(await ASK[side].listFailed(world), [])
      world.clock.nowMs += 10_000
      assert.deepEqual(await ASK[side].listFailed(world), [failing?.id])
    },
    { readyMs: 10_000 },
  ),
)

// What was ever posted

/** A finished, a failed and an unfinished task, posted a second apart in the order of their tags. */
const openHistory = once(async () => {
  const world = await openWorld(everyTest, { ...AMPLE, readyMs: 2000 })
  for (const [tag, subject] of Object.entries({ a: 'yoga', b: NOTHING })) {
    await postOne(world.client, { tag, subject })
    world.clock.nowMs += 2000
  }
  await postOne(world.client, { tag: 'c' })
  // A second of its two, so that the service's present is behind it.
  world.clock.nowMs += byForm(0, 1000)
  return world
})

const askHistory = async (): Promise<Asked> => {
  const world = await openHistory()
  const nowMs = presentOf(world)
  const range = { datetime_from: stamp(nowMs - DAY_MS), datetime_to: stamp(nowMs) }
  return {
    nowMs,
    fetch: (query) => rowsAt(world, '/v3/app_data/id_list', { ...range, ...query }),
    client: (query) => listHere(world, { ...range, ...query }),
  }
}
const listHere = ({ client }: World, query: Json) => {
  const rest = { limit: 1000, offset: 0, sort: 'asc', include_metadata: false }
  return client.listTaskIds(toOurs({ ...rest, ...query }) as TaskIdQuery)
}

const coverHistory = coverQuery(askHistory)

coverHistory('id_list.datetime_from', 'goes six months back', {
  query: () => ({ datetime_from: `2026-04-15 12:00:0${byForm(4, 5)} +00:00` }),
  lists: all,
  refuses: () => [
    { datetime_from: `2026-04-15 12:00:0${byForm(3, 4)} +00:00` },
    { datetime_from: 'yesterday' },
  ],
})
coverHistory('id_list.datetime_from', 'goes one month back with metadata', {
  query: () => ({ datetime_from: `2026-09-15 12:00:0${byForm(4, 5)} +00:00`, include_metadata: true }),
  lists: all,
  refuses: () => [{ datetime_from: `2026-09-15 12:00:0${byForm(3, 4)} +00:00`, include_metadata: true }],
})
coverHistory('id_list.datetime_to', 'is not later than now; both ends belong to the range of posting times', {
  query: (nowMs) => ({ datetime_to: stamp(nowMs - 2000) }),
  lists: (ids) => ids.slice(0, 2),
  refuses: (nowMs) => [{ datetime_to: stamp(nowMs + 1000) }, { datetime_to: 'today' }],
})
coverHistory('id_list.limit', 'is how many are listed, 1000 at most', {
  query: () => ({ limit: 2 }),
  lists: (ids) => ids.slice(0, 2),
  refuses: () => [{ limit: 1001 }, { limit: 0 }],
})
coverHistory('id_list.offset', 'is how many are skipped', {
  query: () => ({ offset: 1 }),
  lists: (ids) => ids.slice(1),
  refuses: () => [{ offset: -1 }],
})
coverHistory('id_list.sort', 'is by execution, ascending when it is left out', {
  query: () => ({ sort: 'desc' }),
  lists: (ids) => ids.toReversed(),
})
covers('id_list.sort', 'is one of two words', {
  fetch: async () => {
    const { fetch } = await askHistory()
    assert.deepEqual(idsOf(await fetch({ sort: 'asc' })), idsOf(await fetch({})))
    await assert.rejects(fetch({ sort: 'up' }), { message: "40501 Invalid Field: 'sort'." })
  },
  client: { because: 'The type of a query allows no other word.' },
})
covers('id_list.datetime_from', 'may not be left out, nor the end', {
  fetch: async () => {
    const { fetch } = await askHistory()
    for (const name of ['datetime_from', 'datetime_to']) {
      await assert.rejects(fetch({ [name]: undefined }), { message: `40501 Invalid Field: '${name}'.` })
    }
  },
  client: { because: 'The type of a query has both.' },
})
covers(['id_list.include_metadata', 'statement.metadata_exists_only'], 'brings the parameters as posted', {
  fetch: async () => {
    const { fetch } = await askHistory()
    const [row] = await fetch({ include_metadata: true })
    const added = { api: 'app_data', function: 'app_searches', se: 'ios_store', se_type: 'organic' }
    const posted = { keyword: 'yoga', location_code: 2840, language_code: 'en', tag: 'a' }
    assert.deepEqual(row.metadata, byForm<Json>(posted, { ...added, ...posted }))
    for (const each of await fetch({})) assert.equal(Object.hasOwn(each, 'metadata'), false)
    await assert.rejects(fetch({ include_metadata: 'yes' }), /include_metadata/)
  },
  client: async () => {
    const { client } = await askHistory()
    const [row] = await client({ include_metadata: true })
    assert.deepEqual([row.tag, row.metadata.keyword], ['a', 'yoga'])
    for (const each of await client({})) assert.deepEqual([each.tag, each.metadata], [null, null])
  },
})
covers(
  'statement.all_tasks_are_returned',
  'successful, failed and unfinished',
  bySide(async (_world, side) => {
    const rows = await (await askHistory())[side]({})
    assert.deepEqual(
      rows.map((row) => `${row.status} ${(row.datetime_done ?? row.datetimeDone ?? null) === null}`),
      byForm(
        ['20000 false', '40102 false', '40601 true'],
        ['Ok. false', 'No Search Results. false', 'Task In Queue. true'],
      ),
    )
  }),
)
covers(
  'notes.id_list_order_and_status',
  'is by execution, of those posted within the range, with codes, or as it is sold messages, as text',
  bySide(
    async (world, side) => {
      const [from, to] = [stamp(world.clock.nowMs), stamp(world.clock.nowMs)]
      const range = { datetime_from: from, datetime_to: to }
      await ASK[side].post(world, Array(20).fill({}))
      world.clock.nowMs += 7500
      const rows: readonly Json[] =
        side === 'fetch' ? await rowsAt(world, '/v3/app_data/id_list', range) : await listHere(world, range)
      const times = rows.map((row) => row.datetime_done ?? row.datetimeDone?.toISOString() ?? '9')
      assert.ok(times.includes('9') && times[0] !== '9', 'some are done and some are not')
      assert.deepEqual(times, times.toSorted())
      for (const { status, cost = 0.0012, costMicros = 1200 } of rows) {
        assert.match(status, byForm(/^[245]\d{4}$/, /^(Ok|Task In Queue|Task Handed)\.$/))
        assert.deepEqual([cost, costMicros], [0.0012, 1200])
      }
    },
    { readyMs: 10_000 },
  ),
)
