/** The service's lists, in our tables: replaced as a whole, never by nothing. */
import assert from 'node:assert/strict'
import { beforeEach, describe, test } from 'node:test'
import { sql } from '../../src/db/sql.ts'
import { AccountError, UnavailableError } from '../../src/errors.ts'
import type { AppDataClient } from '../../src/service/client.ts'
import { areReferencesFresh, loadReferences } from '../../src/watch/references.ts'
import { replaceCalls } from '../post/posting.ts'
import { column } from '../support/database.ts'
import { lasting } from '../support/lasting.ts'
import { tamper } from '../support/stages.ts'
import { createWorld, until, type World } from '../support/world.ts'

const world = lasting(createWorld)
beforeEach(async () => {
  for (const table of ['location', 'language', 'category', 'job_run', 'keyword_watch', 'watch_period'])
    await world.db.sql`delete from ${sql.identifier(table)}`
})

const LISTS = ['location', 'language', 'category'] as const

const sizes = async () =>
  Object.fromEntries(
    await Promise.all(
      LISTS.map(
        async (table) => [table, (await world.db.sql`select from ${sql.identifier(table)}`).count] as const,
      ),
    ),
  )

/** The service on a bad day: every list that is asked for is empty. */
const emptyService = (): AppDataClient => ({
  ...world.client,
  listLocations: async () => [],
  listLanguages: async () => [],
  listCategories: async () => [],
  listListingCategories: async () => [],
})

describe('the references', () => {
  test('are loaded for both stores, and loading them again changes nothing', async () => {
    const loaded = await loadReferences(world.db, world.client)
    const first = await sizes()
    assert.ok(Object.values(first).every((count) => count > 0))
    assert.equal(loaded.locations, first.location)
    const stores = await world.db.sql`select distinct store from location order by 1`
    assert.deepEqual(column(stores, 'store'), ['android_store', 'ios_store'])
    await loadReferences(world.db, world.client)
    assert.deepEqual(await sizes(), first)
  })

  test('forget what the service no longer lists, and take its new names', async () => {
    await loadReferences(world.db, world.client)
    const { sql } = world.db
    await sql`insert into location (store, code, name) values ('ios_store', 999999, 'Atlantis')`
    await sql`update location set name = 'Old name' where store = 'ios_store' and code = 2840`
    await sql`insert into category (store, kind, name, listings)
      values ('android_store', 'listing', 'Alchemy', 1)`
    await sql`update category set listings = -1 where kind = 'listing' and name <> 'Alchemy'`
    await loadReferences(world.db, world.client)
    assert.equal((await sql`select from category where name = 'Alchemy' or listings < 0`).count, 0)
    assert.equal((await sql`select from location where name in ('Atlantis', 'Old name')`).count, 0)
  })

  test('stay as they are when the service answers with nothing', async () => {
    await loadReferences(world.db, world.client)
    const before = await sizes()
    const loaded = await loadReferences(world.db, emptyService())
    assert.deepEqual(loaded, {
      locations: 0,
      languages: 0,
      categories: 0,
      listingCategories: 0,
      missing: [],
    })
    assert.deepEqual(await sizes(), before)
  })

  test('have the categories of listings of both stores where the service has them', async (t) => {
    const sold = await createWorld({ sandbox: { deviations: ['endpoints'] } })
    t.after(() => sold.close())
    const storesOf = async ({ db, client }: World) => {
      assert.deepEqual((await loadReferences(db, client)).missing, [])
      const rows = await db.sql<{ store: string }[]>`
        select distinct store from category where kind = 'listing' order by 1`
      return rows.map(({ store }) => store)
    }
    assert.deepEqual(await storesOf(sold), ['android_store', 'ios_store'])
    assert.deepEqual(await storesOf(world), ['android_store'])
  })

  test('open the watches whose location was only a name', async () => {
    const { sql } = world.db
    await sql`
      insert into keyword_watch (project, store, keyword, location_name, language_code)
      values ('a', 'ios_store', 'yoga', 'united states', 'en'), ('a', 'ios_store', 'zen', 'Nowhere', 'en')`
    assert.equal((await sql`select from watch_period`).count, 0)
    await loadReferences(world.db, world.client)
    const open = await sql`
      select t.subject, t.location_code from watch_period p join target t on t.id = p.target_id
        where p.ended_at is null`
    assert.deepEqual([...open], [{ subject: 'yoga', location_code: 2840 }])
  })

  test('are fresh for some days after a run that ended well, and not after one that failed', async () => {
    assert.equal(await areReferencesFresh(world.db, 7), false)
    const ended = (job: string, state: string, days: number) => world.db.sql`
      insert into job_run (job, slot, state, ended_at)
      values (${job}, now() - ${days} * interval '1 day', ${state}, now() - ${days} * interval '1 day')`
    await ended('references', 'failed', 0)
    await ended('references', 'done', 8)
    await ended('account', 'done', 1)
    assert.equal(await areReferencesFresh(world.db, 7), false)
    assert.equal(await areReferencesFresh(world.db, 9), true)
    await ended('references', 'done', 6)
    assert.equal(await areReferencesFresh(world.db, 7), true)
  })
})

test('a hundred thousand places of the service as it is sold are loaded, each code once', async (t) => {
  const sold = await createWorld({ sandbox: { deviations: ['many-locations'] } })
  t.after(() => sold.close())
  const places = await sold.client.listLocations('android_store')
  const [first] = places
  assert.ok(places.length > 90_000 && first !== undefined)
  const client = replaceCalls(sold.client, {
    listLocations: async (store) =>
      store === 'android_store' ? [...places, { ...first, locationName: 'Twice' }] : [],
  })
  assert.deepEqual((await loadReferences(sold.db, client)).missing, [])
  const [loaded] = await sold.db.sql`
    select count(*)::int as places, count(*) filter (where name = 'Twice')::int as twice from location`
  assert.deepEqual({ ...loaded }, { places: places.length, twice: 0 })
})

test('a list that is slow keeps no other, and no watch of the other store, waiting', async () => {
  const { sql } = world.db
  await sql`
    insert into keyword_watch (project, store, keyword, location_name, language_code)
    values ('a', 'ios_store', 'yoga', 'united states', 'en'),
      ('a', 'android_store', 'zen', 'united states', 'en')`
  const { promise: arrived, resolve: arrive } = Promise.withResolvers<void>()
  const client = replaceCalls(world.client, {
    listLocations: async (store) => {
      if (store === 'android_store') await arrived
      return world.client.listLocations(store)
    },
  })
  const followed = async () =>
    (
      await sql<{ store: string }[]>`
      select t.store from watch_period p join target t on t.id = p.target_id where p.ended_at is null
        order by 1`
    ).map(({ store }) => store)
  const loading = loadReferences(world.db, client)
  await until('the watch of the other store is followed', async () => (await followed()).length === 1)
  assert.deepEqual(await followed(), ['ios_store'])
  await until('the other lists are there', async () => ((await sizes()).category ?? 0) > 0)
  arrive()
  await loading
  assert.deepEqual(await followed(), ['android_store', 'ios_store'])
})

describe('a list that cannot be had', () => {
  const LOST = ['/v3/app_data/android_store/locations', '/v3/app_data/ios_store/languages']

  test('leaves ours as it is and is named with its call; the others are loaded', async (t) => {
    const { sql } = world.db
    await sql`insert into location (store, code, name) values ('android_store', 2840, 'Old name')`
    const { client } = await tamper(
      t,
      world,
      (path, body) => {
        if (path === LOST[1]) body.tasks[0].result = null
      },
      (path) => (path === LOST[0] ? '/v3/nowhere' : path),
    )
    const { missing, ...counts } = await loadReferences(world.db, client)
    assert.ok(Object.values(counts).every((count) => count > 0))
    assert.deepEqual(
      missing.map((problem) => /GET \S+/.exec(problem)?.[0]).sort(),
      LOST.map((path) => `GET ${path}`),
    )
    const kept = await sql`select name from location where store = 'android_store'`
    assert.deepEqual([...kept], [{ name: 'Old name' }])
    const languages = await sql`select distinct store from language`
    assert.deepEqual([...languages], [{ store: 'android_store' }])
  })

  test('is asked for again on the next day', async () => {
    const record = (missing: string[]) => world.db.sql`
      insert into job_run (job, slot, state, ended_at, summary)
      values ('references', clock_timestamp(), 'done', clock_timestamp() - interval '25 hours',
        ${JSON.stringify({ missing })}::text::jsonb)`
    await record(['GET /v3/app_data/ios_store/languages failed.'])
    assert.equal(await areReferencesFresh(world.db, 7), false)
    await record([])
    assert.equal(await areReferencesFresh(world.db, 7), true)
  })

  test('when it is every one is an error of the first', async () => {
    const refuse = async () => {
      throw new UnavailableError('GET /v3 failed.')
    }
    const client = replaceCalls(world.client, {
      listLocations: refuse,
      listLanguages: refuse,
      listCategories: refuse,
      listListingCategories: refuse,
    })
    await assert.rejects(loadReferences(world.db, client), UnavailableError)
  })

  test('because the account is refused is an error at once, and so is a mistake of our own', async () => {
    for (const error of [new AccountError('Not verified.'), new TypeError('mistake')]) {
      const listLanguages = async () => {
        throw error
      }
      await assert.rejects(loadReferences(world.db, replaceCalls(world.client, { listLanguages })), error)
    }
  })
})
