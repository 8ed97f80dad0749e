/** Rows of posting: what a task may hold, what it costs, how its keyword travels. */

import assert from 'node:assert/strict'
import type { ServiceFunction } from '../../src/service/functions.ts'
import type { Json } from '../sandbox/caller.ts'
import { ASK } from './ask.ts'
import { bySide, covers, type Side } from './covers.ts'
import { byForm } from './form.ts'
import type { Store } from './paths.ts'
import {
  openSharedWorld,
  post,
  postAnswered,
  postOne,
  postWire,
  task,
  type World,
  wireTask,
} from './world.ts'

type Fields = Readonly<Record<string, unknown>>
type Rule = {
  takes?: readonly Fields[]
  refuses?: readonly Fields[]
  /** The field that a refusal names; default the one of the row. */
  names?: string
  kind?: readonly [Store, ServiceFunction]
  /** Other rows that say the same. */
  also?: readonly string[]
}

/** A rule of one field: the same tasks are taken and refused whoever posts them, and each alone. */
const coverRule = (row: string, sentence: string, rule: Rule): void => {
  const {
    takes = [],
    refuses = [],
    names = row.split('.').at(-1) ?? '',
    kind = ['ios_store', 'app_searches'],
    also = [],
  } = rule
  const refusal = { fetch: `40501 Invalid Field: '${names}'.`, client: `40501 Invalid Field: '?${names}` }
  const check = async (world: World, side: Side) => {
    const post = async (fields: Fields) => (await ASK[side].post(world, [fields], kind))[0]
    for (const fields of takes) {
      assert.equal((await post(fields))?.said, '20100 Task Created.', JSON.stringify(fields).slice(0, 200))
    }
    for (const fields of refuses) {
      const { said = '', cost } = (await post(fields)) ?? {}
      assert.match(said, new RegExp(`^${refusal[side]}`))
      assert.equal(cost, 0)
    }
  }
  covers([row, ...also], sentence, bySide(check))
}

const URL_FIELDS = { postback_url: 'http://127.0.0.1:9/$id?tag=$tag', postback_data: 'advanced' }

coverRule('task_post.keyword', 'is required and has up to 700 characters', {
  takes: [{ keyword: 'x'.repeat(700) }, { keyword: '語'.repeat(700) }, { keyword: '🧘'.repeat(700) }],
  refuses: [
    { keyword: undefined },
    { keyword: '' },
    { keyword: ' ' },
    { keyword: 'x'.repeat(701) },
    { keyword: 7 },
  ],
  also: ['limits.keyword_length'],
})
coverRule('task_post.location_name', 'names the location in full instead of its code', {
  takes: [{ location_code: undefined, location_name: 'United States' }],
  refuses: [
    { location_code: undefined, location_name: 'Atlantis' },
    { location_code: undefined, location_name: 7 },
  ],
})
coverRule('task_post.location_code', 'names the location where no name does', {
  takes: [{ location_code: 2276 }],
  refuses: [undefined, 1, 'US', '2840', 21137].map((location_code) => ({ location_code })),
})
const WITHOUT_LANGUAGE = { language_code: undefined }
coverRule('task_post.language_name', 'names the language in full, and may be left out where it is not sold', {
  takes: [{ language_code: undefined, language_name: 'German' }, ...byForm([WITHOUT_LANGUAGE], [])],
  refuses: [{ language_code: undefined, language_name: 'Klingon' }, ...byForm([], [WITHOUT_LANGUAGE])],
})
coverRule(
  'task_post.language_code',
  'is one of the languages list, and may be left out where it is not sold',
  {
    takes: [{ language_code: 'ja' }, ...byForm([WITHOUT_LANGUAGE], [])],
    refuses: [{ language_code: 'xx' }, { language_code: 7 }],
  },
)
coverRule('task_post.priority', 'is 1 or 2', {
  takes: [{ priority: 1 }, { priority: 2 }, {}],
  refuses: [{ priority: 0 }, { priority: 3 }, { priority: 'high' }],
})
/** What tasks cost that are posted together. */
const coverCosts = (
  rows: string | readonly string[],
  sentence: string,
  costs: readonly (readonly [fields: Fields, micros: number])[],
): void => {
  const check = async (world: World, side: Side) => {
    const posted = costs.map(([fields]) => fields)
    const answers = await ASK[side].post(world, posted)
    assert.deepEqual(
      answers.map(({ cost }) => cost),
      costs.map(([, micros]) => micros),
    )
  }
  covers(rows, sentence, bySide(check))
}
coverCosts('task_post.priority', 'costs twice as much when it is high, and is normal when it is left out', [
  [{}, 1200],
  [{ priority: 1 }, 1200],
  [{ priority: 2 }, 2400],
])
coverRule('task_post.depth', 'is a whole number up to 700, of any multiple', {
  takes: [{ depth: 1 }, { depth: 137 }, { depth: 700 }],
  refuses: [{ depth: 0 }, { depth: 701 }, { depth: 1.5 }, { depth: 'deep' }],
  also: ['limits.depth'],
})
covers(['task_post.depth', 'limits.depth'], 'is 100 when it is left out', {
  fetch: async (world) => {
    const { data, cost } = await postWire(world)
    assert.deepEqual([data.depth, cost], [100, 0.0012])
  },
  client: async ({ client }) => {
    const outcome = await client.getAppSearches('ios_store', await postOne(client))
    assert.ok(outcome.kind === 'done')
    assert.deepEqual([outcome.data.depth, outcome.result?.items.length], [100, 100])
  },
})
coverRule('task_post.tag', 'has at most 255 characters', {
  takes: [{ tag: 'x'.repeat(255) }],
  refuses: [{ tag: 'x'.repeat(256) }, { tag: 7 }],
  also: ['limits.tag_length'],
})
coverRule('task_post.postback_url', 'is an address of the web', {
  takes: [URL_FIELDS],
  refuses: [
    { ...URL_FIELDS, postback_url: 'nowhere' },
    { ...URL_FIELDS, postback_url: 'ftp://127.0.0.1/x' },
  ],
})
coverRule('task_post.postback_data', 'is advanced, and needed with a postback', {
  takes: [URL_FIELDS],
  refuses: [{ postback_url: 'http://127.0.0.1:9/' }, { ...URL_FIELDS, postback_data: 'html' }],
})
coverRule('task_post.pingback_url', 'is an address of the web', {
  takes: [{ pingback_url: 'https://127.0.0.1:9/$id/$tag' }],
  refuses: [{ pingback_url: 'nowhere' }, { pingback_url: 'ftp://127.0.0.1/x' }],
})

covers('statement.response_one_task_object_per_posted_task', 'tells what was created, at what cost', {
  fetch: async (world) => {
    const posted = wireTask({ tag: 'mine', priority: 2 })
    const { id, status_code, status_message, cost, result, data } = await postWire(world, posted)
    assert.match(id, /^[0-9a-f-]{36}$/)
    assert.deepEqual(
      { status_code, status_message, cost, result },
      { status_code: 20100, status_message: 'Task Created.', cost: 0.0024, result: null },
    )
    assert.deepEqual(data, {
      ...posted,
      depth: 100,
      api: 'app_data',
      function: 'app_searches',
      se: 'ios_store',
      se_type: 'organic',
      device: 'desktop',
      os: 'windows',
    })
  },
  client: async (world) => {
    const [answer] = await postAnswered(world.client, [task({ tag: 'mine', priority: 2 })])
    const { serviceId, ...rest } = answer ?? { serviceId: '' }
    assert.match(serviceId ?? '', /^[0-9a-f-]{36}$/)
    assert.deepEqual(rest, { tag: 'mine', statusCode: 20100, message: 'Task Created.', costMicros: 2400 })
  },
})

const overfull = (count: number) => Array.from({ length: count }, (_, index) => ({ tag: `t.${index}` }))
covers(
  ['rule.task_posting.1', 'limits.tasks_per_post', 'errors.40006'],
  'a hundred tasks of a post are created, and those beyond are refused alone',
  {
    world: {},
    fetch: async (world) => {
      const envelope = await world.post(
        '/v3/app_data/ios_store/app_searches/task_post',
        overfull(103).map(wireTask),
      )
      const answers = envelope.tasks.map((each: Json) => `${each.status_code} ${each.status_message}`)
      assert.deepEqual(answers.slice(0, 100), Array(100).fill('20100 Task Created.'))
      assert.deepEqual(
        answers.slice(100),
        Array(3).fill('40006 You can set no more than 100 tasks at a time.'),
      )
      assert.deepEqual([envelope.tasks_count, envelope.tasks_error, envelope.cost], [103, 3, 0.12])
    },
    client: async ({ client, heads }) => {
      await assert.rejects(post(client, overfull(101).map(task)), { code: 'configuration' })
      assert.deepEqual(heads, [], 'nothing was sent')
      assert.equal((await postAnswered(client, overfull(100).map(task))).length, 100)
    },
  },
)
coverCosts(['rule.task_posting.2', 'limits.billing_unit'], 'each hundred that is begun is billed whole', [
  [{ depth: 1 }, 1200],
  [{ depth: 100 }, 1200],
  [{ depth: 101 }, 2400],
  [{ depth: 200 }, 2400],
  [{ depth: 700 }, 8400],
])
covers(
  'rule.task_posting.3',
  'what the store does not have is refunded when the task is done, and not before',
  bySide(
    async (world, side) => {
      const { post, readBalance } = ASK[side]
      await post(world, [{ keyword: 'xkcdqwrt zzgrblk', depth: 700 }])
      assert.equal(await readBalance(world), 1_000_000 - 8400)
      world.clock.nowMs += 1000
      assert.equal(await readBalance(world), 1_000_000 - 1200)
    },
    { readyMs: 1000, balanceUsd: 1 },
  ),
)

// How a keyword travels

/** What comes back of a keyword posted like this. */
const heardBy = async (keyword: string): Promise<string> => {
  const world = await openSharedWorld()
  const { id } = await postWire(world, { keyword, depth: 1 })
  const fetched = await world.get(`/v3/app_data/ios_store/app_searches/task_get/advanced/${id}`)
  return fetched.tasks[0].result[0].keyword
}
/** What comes back of a keyword that a person typed, and how it was posted. */
const heardOf = async (subject: string): Promise<{ heard: unknown; posted: unknown }> => {
  const { client } = await openSharedWorld()
  const outcome = await client.getAppSearches('ios_store', await postOne(client, { subject, depth: 1 }))
  assert.ok(outcome.kind === 'done')
  return { heard: outcome.result?.keyword, posted: outcome.data.keyword }
}

/** As a person types it, and as it must be posted. */
const KEYWORDS: readonly (readonly [typed: string, posted: string])[] = [
  ['c++', 'c%2B%2B'],
  ['100% free', '100%25 free'],
  ['3+ math', '3%2B math'],
  ['naïve', 'naïve'],
  ['日本語', '日本語'],
  ['yoga 🧘‍♀️', 'yoga 🧘‍♀️'],
  ['yoga%20math', 'yoga%2520math'],
]
const coverKeyword = (name: string, sentence: string, pairs: typeof KEYWORDS): void => {
  covers(`keyword_encoding.${name}`, sentence, {
    fetch: async () => {
      for (const [typed, posted] of pairs) assert.equal(await heardBy(posted), typed)
    },
    client: async () => {
      for (const keyword of pairs.flat()) assert.equal((await heardOf(keyword)).heard, keyword)
    },
  })
}
coverKeyword('sequences_are_decoded', 'by the service, byte by byte', [
  ['yoga math', 'yoga%20math'],
  ['naïve', 'na%C3%AFve'],
  ['yoga', '%79oga'],
])
coverKeyword('becomes_a_space', 'on the wire, so that a typed one must not stand there', [
  ['yoga math', 'yoga+math'],
])
coverKeyword('come_back_exactly', 'as they were watched', KEYWORDS)
covers('keyword_encoding.encodes', 'a percent sign and a plus sign, and nothing else', {
  fetch: async () => {
    assert.equal(await heardBy('100%25 yoga'), '100% yoga')
    assert.equal(await heardBy('yoga %2B & / ? #'), 'yoga + & / ? #')
  },
  client: async () => {
    for (const [typed, posted] of KEYWORDS) assert.equal((await heardOf(typed)).posted, posted)
  },
})
const PLUSES = 233
covers('keyword_encoding.limit_of_700', 'counts the keyword as posted', {
  fetch: async (world) => {
    assert.equal((await postWire(world, { keyword: '%2B'.repeat(PLUSES) })).status_code, 20100)
    assert.equal((await postWire(world, { keyword: '%2B'.repeat(PLUSES + 1) })).status_code, 40501)
  },
  client: async ({ client }) => {
    await postOne(client, { subject: '+'.repeat(PLUSES) })
    await assert.rejects(postOne(client, { subject: '+'.repeat(PLUSES + 1) }), /as posted/)
  },
})
