import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { readOutcome } from '../../src/collect/fetch.ts'
import { UnreadableError } from '../../src/errors.ts'
import type { FetchItem } from '../../src/ledger/hand-out.ts'
import type { ServiceFunction } from '../../src/service/functions.ts'
import { readPostback } from '../../src/service/postback.ts'
import { parseRankedSearch, type RankedSearch } from '../../src/service/search-result.ts'
import { parseSparingly, SentItems, withParsedItems } from '../../src/service/sent-items.ts'
import { makeSearch, SPOILT_BODIES, seeded, spoil, spoilText } from './search-bodies.ts'

type Search = Record<string, unknown> & { items: Record<string, unknown>[] }

const wrap = (...result: unknown[]) => ({
  status_code: 20000,
  tasks: [{ id: 'id-1', status_code: 20000, result }],
})
const bodyOf = (answer: unknown) => Buffer.from(JSON.stringify(answer))
const resultOf = (answer: unknown) => (answer as ReturnType<typeof wrap>).tasks[0]?.result[0]
const itemsOf = (answer: unknown) => (resultOf(answer) as { items?: unknown } | undefined)?.items
const searchOf = (...items: Record<string, unknown>[]) => ({
  ...(makeSearch(1) as Search),
  items: items.map((fields) => ({ ...(makeSearch(1) as Search).items[0], ...fields })),
})

/** What a body says, or what is wrong with it, as text. */
function readBody(parse: (body: Buffer) => unknown, body: Buffer): string {
  const read = (): RankedSearch | null => {
    const result = resultOf(parse(body))
    return result === undefined
      ? null
      : parseRankedSearch(result, (appId) => (appId.endsWith('2') ? 9 : null))
  }
  try {
    return JSON.stringify(read())
  } catch (error) {
    return error instanceof UnreadableError ? `${error.path}: ${error.message}` : 'no JSON'
  }
}

/** An answer with a search, spoilt in its values, in its text, in both, or not at all. */
function spoilBody(random: (below: number) => number): Buffer {
  const search = makeSearch(1 + random(4), random(2) === 0 ? 'ios_store' : 'android_store')
  const body = bodyOf(wrap(random(2) === 0 ? spoil(search, random) : search))
  return random(3) === 0 ? body : spoilText(body, random)
}

const parseWhole = (body: Buffer) => JSON.parse(body.toString('utf8'))

describe('an answer that is parsed sparingly', () => {
  for (const store of ['ios_store', 'android_store'] as const) {
    test(`makes no objects of a usual search of ${store}, and holds the same`, () => {
      const answer = wrap(makeSearch(3, store))
      const parsed = parseSparingly(bodyOf(answer))
      assert.ok(itemsOf(parsed) instanceof SentItems)
      assert.deepEqual(withParsedItems(resultOf(parsed)), resultOf(answer))
    })
  }

  test(
    `says what JSON.parse says, of ${SPOILT_BODIES} searches that are spoilt in their values or their ` +
      'text',
    () => {
      const random = seeded(23)
      const ways = { sent: 0, parsed: 0, broken: 0 }
      for (let round = 0; round < SPOILT_BODIES; round += 1) {
        const body = spoilBody(random)
        const read = readBody(parseSparingly, body)
        assert.equal(read, readBody(parseWhole, body), body.toString('latin1'))
        if (read === 'no JSON') ways.broken += 1
        else ways[itemsOf(parseSparingly(body)) instanceof SentItems ? 'sent' : 'parsed'] += 1
      }
      for (const count of Object.values(ways)) assert.ok(count > SPOILT_BODIES / 10, JSON.stringify(ways))
    },
  )

  const unusual: [what: string, answer: unknown][] = [
    ['without items', wrap({ keyword: 'yoga' })],
    ['with no item', wrap({ items: [] })],
    ['whose second item is of another form', wrap(searchOf({}, { app_id: 1001 }))],
    ['with a title that is no text', wrap(searchOf({ title: 7 }))],
    ['with items elsewhere alone', { ...wrap(), items: (makeSearch(1) as Search).items }],
    ['with items elsewhere before', { items: (makeSearch(1) as Search).items, ...wrap(makeSearch(2)) }],
    ['with a name that ends like theirs', wrap({ 'x"items': (makeSearch(1) as Search).items })],
  ]
  for (const [what, answer] of unusual) {
    test(`${what} is parsed whole`, () => {
      assert.deepEqual(parseSparingly(bodyOf(answer)), answer)
    })
  }

  test('with items twice has the last ones, as JSON.parse has', () => {
    const [items, other] = [1, 2].map((apps) => JSON.stringify((makeSearch(apps) as Search).items))
    for (const [twice, expected] of [
      [`"items":${items},"items":null`, null],
      [`"items":7,"items":${items}`, JSON.parse(items ?? '')],
      [`"items":${items},"items":${other}`, JSON.parse(other ?? '')],
    ] as const) {
      const parsed = parseSparingly(Buffer.from(`{"tasks":[{"result":[{${twice}}]}]}`))
      assert.deepEqual(withParsedItems(resultOf(parsed)), { items: expected })
    }
  })

  test('with more items than any search has is refused in the same words', () => {
    const body = bodyOf(wrap(makeSearch(5_001)))
    assert.match(readBody(parseSparingly, body), /5000/)
    assert.equal(readBody(parseSparingly, body), readBody(parseWhole, body))
  })

  test('that is no JSON behind its items throws, as JSON.parse does', () => {
    const body = bodyOf(wrap(makeSearch(2)))
    assert.throws(() => parseSparingly(body.subarray(0, -1)), SyntaxError)
    assert.throws(() => parseSparingly(Buffer.concat([body, Buffer.from('}')])), SyntaxError)
  })

  test('is kept whole when it cannot be read', () => {
    const contradiction = searchOf({}, { app_id: '1002' })
    const fetched = readOutcome(itemOf('app_searches'), outcomeOf(contradiction))
    assert.ok(fetched.kind === 'unreadable')
    assert.deepEqual(JSON.parse(gunzipSync(fetched.bodyGzip).toString()), contradiction)
  })

  test('is what it is to functions that read objects', () => {
    const search = makeSearch(2)
    for (const fn of ['app_info', 'app_reviews'] as const) {
      const outcome = outcomeOf(search)
      const read = (result: unknown) => readOutcome(itemOf(fn), { ...outcome, result })
      assert.deepEqual(read(outcome.result), read(search), fn)
    }
  })
})

function itemOf(fn: ServiceFunction): FetchItem {
  const item = { serviceId: 'id-1', path: null, kind: 'advanced', html: false, htmlPath: null } as const
  return { ...item, store: 'ios_store', function: fn, depth: 100 }
}

function outcomeOf(search: unknown) {
  const outcome = readPostback(bodyOf(wrap(search)), 'id-1')
  assert.ok(outcome.kind === 'done' && (outcome.result as { items: unknown }).items instanceof SentItems)
  return outcome
}
