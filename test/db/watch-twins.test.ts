/**
 * Two watches of a project on one target, written at the same moment: it is followed once, and always by one.
 */
import assert from 'node:assert/strict'
import { before, beforeEach, describe, test } from 'node:test'
import { createTestDatabase } from '../support/database.ts'
import { until } from '../support/embedded.ts'
import { lasting } from '../support/lasting.ts'

const BY_CODE = `insert into keyword_watch (project, store, keyword, location_code, language_code)
  values ('fitness', 'ios_store', 'yoga', 2840, 'en')`
const BY_NAME = `insert into keyword_watch (project, store, keyword, location_name, language_code)
  values ('fitness', 'ios_store', 'yoga', 'United States', 'en')`

const database = lasting(createTestDatabase)
before(async () => {
  await database.sql`insert into location (store, code, name) values ('ios_store', 2840, 'United States')`
})
beforeEach(async () => {
  await database.sql`truncate keyword_watch, watch_period`
  // The target and the project are known: nothing else would make the second one wait for the first.
  await database.sql.unsafe(BY_CODE)
  await database.sql`truncate keyword_watch, watch_period`
})

/** Writes both before either commits: the second waits for the end of the first. */
async function writeBoth(endOfFirst: 'commit' | 'rollback'): Promise<void> {
  const [first, second] = await Promise.all([database.sql.reserve(), database.sql.reserve()])
  try {
    await first.unsafe('begin')
    await first.unsafe(BY_CODE)
    const written = second.unsafe(BY_NAME).execute()
    const waiting = () => database.sql`
      select from pg_stat_activity where datname = current_database() and wait_event = 'transactionid'`
    await until('the second waits for the first', async () => (await waiting()).count === 1)
    await first.unsafe(endOfFirst)
    await written
  } finally {
    await first.unsafe('rollback')
    first.release()
    second.release()
  }
}

async function followers(): Promise<string[]> {
  const rows = await database.sql<{ by: string }[]>`
    select coalesce(w.location_name, w.location_code::text) as by
    from watch_period p join keyword_watch w on w.id = p.watch_id where p.ended_at is null`
  return rows.map(({ by }) => by)
}

describe('of twins that do not see each other', () => {
  test('one is followed, and the other takes over when it goes', async () => {
    await writeBoth('commit')
    assert.deepEqual(await followers(), ['2840'])
    await database.sql`select start_missing_watch_periods()`
    assert.deepEqual(await followers(), ['2840'])
    const problems = await database.sql`select problem from watch_problem where watch_table = 'keyword_watch'`
    assert.deepEqual([...problems], [{ problem: 'followed_already' }])
    await database.sql`delete from keyword_watch where location_code = 2840`
    await database.sql`select start_missing_watch_periods()`
    assert.deepEqual(await followers(), ['United States'])
  })

  test('the second is followed when the first is taken back', async () => {
    await writeBoth('rollback')
    assert.deepEqual(await followers(), ['United States'])
  })
})

test('spellings that differ in case alone are bought once, and not told of', async () => {
  const add = (project: string, ...keywords: string[]) => database.sql`
    insert into keyword_watch (project, store, keyword, location_code, language_code)
    select ${project}, 'ios_store', keyword, 2840, 'en' from unnest(${keywords}::text[]) keyword`
  const followed = async () => {
    const rows = await database.sql<{ by: string }[]>`
      select p.project || ': ' || w.keyword || ' as ' || t.subject as by from watch_period p
      join keyword_watch w on w.id = p.watch_id join target t on t.id = p.target_id
      where p.ended_at is null order by 1`
    return rows.map(({ by }) => by)
  }
  await add('fitness', 'Pilates', 'pilates', 'PILATES')
  await add('other', 'pilates')
  assert.deepEqual(await followed(), ['fitness: Pilates as Pilates', 'other: pilates as Pilates'])
  assert.deepEqual(
    [
      ...(await database.sql`select problem from watch_problem where problem
    in ('followed_already', 'differs_in_case')`),
    ],
    [],
  )
  await database.sql`delete from keyword_watch where keyword = 'Pilates'`
  assert.deepEqual(await followed(), ['fitness: pilates as Pilates', 'other: pilates as Pilates'])
  await database.sql`delete from keyword_watch where keyword = 'pilates' and project = 'fitness'`
  assert.deepEqual(await followed(), ['fitness: PILATES as Pilates', 'other: pilates as Pilates'])
})
