/**
 * Reviews: each once, as its latest capture shows it, in whatever order and company the captures are stored.
 */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, test } from 'node:test'
import fc from 'fast-check'
import type { Fetched } from '../../src/collect/fetch.ts'
import { openDatabase } from '../../src/db/database.ts'
import { mergeReviews, type SeenReview, upsertReviews } from '../../src/history/captures.ts'
import { countWaiting } from '../post/posting.ts'
import { lasting } from '../support/lasting.ts'
import { buy, clear, collect, fetchItems, handOut, store, tamper, watch } from '../support/stages.ts'
import { createWorld, until } from '../support/world.ts'

const APP = '1480010017'

const world = lasting(() => createWorld({ sandbox: { callsPerMinute: 100_000 } }))
afterEach(() => clear(world))

const watchReviews = (fields = {}) =>
  watch(world, 'app_watch', { store: 'ios_store', app_id: APP, reviews: true, reviews_depth: 60, ...fields })

async function fetchReviews(): Promise<Extract<Fetched, { kind: 'reviews' }>> {
  await buy(world)
  const [fetched] = await fetchItems(world, await handOut(world))
  assert.ok(fetched?.kind === 'reviews' && fetched.reviews !== null)
  return fetched
}

const countReviews = async () => (await world.db.sql`select from review`).count

describe('the reviews of an app', () => {
  beforeEach(() => watchReviews())

  test('are kept one by one, and what stands above them is the snapshot of their slot', async () => {
    const fetched = await fetchReviews()
    const { reviews } = fetched
    assert.ok(reviews !== null)
    assert.equal((await store(world, [fetched])).stored, 1)

    const [snapshot] = await world.db.sql`
      select s.found, s.gap, s.rating, s.votes_count, s.reviews_count, t.check_url, s.captured_at,
        s.listing_hash, s.version,
        a.app_id, a.title
      from app_snapshot s join app a on a.id = s.app join target t on t.id = s.target_id`
    assert.deepEqual(
      { ...snapshot },
      {
        found: true,
        gap: null,
        rating: reviews.rating?.value ?? null,
        votes_count: reviews.rating?.votesCount,
        reviews_count: null,
        check_url: reviews.checkUrl,
        captured_at: reviews.datetime,
        listing_hash: null,
        version: null,
        app_id: APP,
        title: reviews.title,
      },
    )
    const rows = await world.db.sql`
      select review_id, location_code, language_code, version, rating, title, text, author, author_image,
        helpful_count,
        responses, written_at, first_seen_at, last_seen_at from review order by written_at desc, review_id`
    assert.equal(rows.length, 60)
    const newest = reviews.items[0]
    assert.deepEqual(
      { ...rows.find((row) => row.review_id === newest?.id) },
      {
        review_id: newest?.id,
        location_code: 2840,
        language_code: 'en',
        version: newest?.version,
        rating: newest?.rating?.value,
        title: newest?.title,
        text: newest?.reviewText,
        author: newest?.userProfile?.profileName,
        author_image: newest?.userProfile?.profileImageUrl,
        helpful_count: null,
        responses: null,
        written_at: newest?.timestamp,
        first_seen_at: reviews.datetime,
        last_seen_at: reviews.datetime,
      },
    )
  })

  test('keep how helpful they were found, and each answer of the developer', async () => {
    const fetched = await fetchReviews()
    const { reviews } = fetched
    const [first] = reviews?.items ?? []
    assert.ok(reviews !== null && first !== undefined)
    const timestamp = new Date(Date.UTC(2026, 2, 10, 9))
    const answered = {
      ...first,
      helpfulCount: 3,
      responses: [{ author: 'us', title: null, text: 'Thanks.', timestamp }],
    }
    await store(world, [{ ...fetched, reviews: { ...reviews, items: [answered] } }])
    const [row] = await world.db.sql`select helpful_count, responses from review`
    assert.deepEqual(
      [row?.helpful_count, row?.responses],
      [3, [{ author: 'us', title: null, text: 'Thanks.', timestamp: timestamp.toISOString() }]],
    )
  })

  test('lose what Postgres cannot hold, and nothing else', async (t) => {
    await buy(world)
    const { client } = await tamper(t, world, (path, body) => {
      if (path.includes('/task_get/'))
        Object.assign(body.tasks[0].result[0].items[0], { title: 'a\u0000b', review_text: 'lone \ud800' })
    })
    assert.equal((await collect(world, { client })).stored, 1)
    const rows = await world.db.sql`select title, text from review where title = 'ab'`
    assert.deepEqual([...rows], [{ title: 'ab', text: 'lone \ufffd' }])
    assert.equal(await countReviews(), 60)
  })
})

test('an app without reviews is measured: one unit is paid, and the rest comes back', async () => {
  await watchReviews({ app_id: '999999999', reviews_depth: 500 })
  await buy(world)
  assert.equal((await collect(world)).stored, 1)
  const [row] = await world.db.sql`select found, gap, captured_at is not null as captured from app_snapshot`
  assert.deepEqual({ ...row }, { found: false, gap: null, captured: true })
  const ledger = await world.db.sql`
    select kind, amount_micros::int as micros from charge order by kind`
  assert.deepEqual(
    [...ledger],
    [
      { kind: 'charge', micros: 7500 },
      { kind: 'refund', micros: -6750 },
    ],
  )
})

describe('captures of the same reviews', () => {
  /** A task that brings reviews, for captures to belong to; its id at the service. */
  async function prepare(): Promise<string> {
    await watchReviews()
    await buy(world)
    const [task] = await world.db.sql<{ id: string }[]>`select service_id as id from task`
    return task?.id ?? ''
  }

  const captures = fc.uniqueArray(
    fc.record({
      minute: fc.nat({ max: 59 }),
      shown: fc.uniqueArray(
        fc.record({ review: fc.nat({ max: 5 }), title: fc.constantFrom('a', 'b', 'c') }),
        { selector: ({ review }) => review },
      ),
    }),
    { selector: ({ minute }) => minute, maxLength: 5 },
  )
  type Capture = { minute: number; shown: { review: number; title: string }[] }

  const stamp = (minute: number) => new Date(Date.UTC(2026, 0, 1, 0, minute))
  /** An edit changes every field. */
  const fieldsOf = (title: string) => ({
    version: `version ${title}`,
    rating: 'abc'.indexOf(title) + 1,
    title,
    text: `text ${title}`,
    author: `author ${title}`,
    authorImage: `https://store/${title}`,
    helpfulCount: 'abc'.indexOf(title) + 1,
    responses: [{ author: 'us', title: null, text: `answer ${title}`, timestamp: null }],
    writtenAt: stamp('abc'.indexOf(title)),
  })
  const toSeen = (serviceId: string, { minute, shown }: Capture) =>
    shown.map(
      ({ review, title }): SeenReview => ({
        serviceId,
        app: 1,
        reviewId: `review ${review}`,
        ...fieldsOf(title),
        firstSeenAt: stamp(minute),
        lastSeenAt: stamp(minute),
      }),
    )

  test('give the same reviews in any order and in any batches', async () => {
    const serviceId = await prepare()
    const arrivals = captures.chain((all) =>
      fc.tuple(
        fc.constant(all),
        fc.shuffledSubarray(all, { minLength: all.length }),
        fc.infiniteStream(fc.boolean()),
      ),
    )
    await fc.assert(
      fc.asyncProperty(arrivals, async ([all, shuffled, breaks]) => {
        const batches: Capture[][] = [[]]
        for (const capture of shuffled) {
          batches.at(-1)?.push(capture)
          if (breaks.next().value) batches.push([])
        }
        await world.db.sql`truncate review`
        for (const batch of batches) {
          const seen = batch.flatMap((capture) => toSeen(serviceId, capture))
          await world.db.begin((tx) => upsertReviews(tx, seen))
        }
        const rows = await world.db.sql`
          select review_id as review, version, rating, title, text, author, author_image as "authorImage",
            helpful_count as "helpfulCount", responses, written_at as "writtenAt", first_seen_at as first,
              last_seen_at as last from review order by review_id`
        const inTime = all.toSorted((one, other) => one.minute - other.minute)
        const expected = [0, 1, 2, 3, 4, 5].flatMap((review) => {
          const times = inTime.filter(({ shown }) => shown.some((one) => one.review === review))
          const [first, last] = [times[0], times.at(-1)]
          if (first === undefined || last === undefined) return []
          const { title } = last.shown.find((one) => one.review === review) ?? { title: '' }
          const [seenFirst, seenLast] = [stamp(first.minute), stamp(last.minute)]
          return [{ review: `review ${review}`, ...fieldsOf(title), first: seenFirst, last: seenLast }]
        })
        assert.deepEqual([...rows], expected)
      }),
      { numRuns: 20 },
    )
  })

  test('without a time of their own are of the present, and so the latest', async () => {
    const serviceId = await prepare()
    const old = toSeen(serviceId, { minute: 1, shown: [{ review: 1, title: 'old' }] })
    const present = old.map((one) => ({ ...one, title: 'present', firstSeenAt: null, lastSeenAt: null }))
    assert.deepEqual(
      mergeReviews([...present, ...old]).map(({ title, firstSeenAt, lastSeenAt }) => [
        title,
        firstSeenAt,
        lastSeenAt,
      ]),
      [['present', stamp(1), null]],
    )
    await world.db.begin((tx) => upsertReviews(tx, present))
    await world.db.begin((tx) => upsertReviews(tx, old))
    const [row] = await world.db.sql`
      select title, first_seen_at, last_seen_at > clock_timestamp() - interval '1 minute' as is_fresh
        from review`
    assert.deepEqual({ ...row }, { title: 'present', first_seen_at: stamp(1), is_fresh: true })
  })

  test('are stored by several runners at once, in any order, and none waits in a circle', async () => {
    const serviceId = await prepare()
    const shown = Array.from({ length: 200 }, (_, review) => ({ review, title: 'a' }))
    const seen = toSeen(serviceId, { minute: 1, shown })
    await world.db.begin((tx) => upsertReviews(tx, seen))
    const others = [0, 1, 2, 3].map(() => openDatabase(world.db.url, { maxConnections: 1 }))
    const all = await world.db.begin(async (tx) => {
      await tx`select from review where review_id = 'review 100' for update`
      const each = others.map((other, index) =>
        other.begin((own) => upsertReviews(own, index % 2 === 0 ? seen : seen.toReversed())),
      )
      await until('all of them wait', async () => (await countWaiting(world)) === each.length)
      return { each }
    })
    await Promise.all(all.each)
    assert.equal(await countReviews(), 200)
    for (const other of others) await other.close()
  })
})
