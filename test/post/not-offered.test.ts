/**
 * What the service as it is sold has, and one in the form of the specification has not: it is told of, and
 * stops nothing.
 */
import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import { loadReferences } from '../../src/watch/references.ts'
import { lasting } from '../support/lasting.ts'
import { readReservations, readSpendDifferences } from '../support/ledger.ts'
import { buy, clear, collect, tamper, watch, watchKeywords } from '../support/stages.ts'
import { createWorld } from '../support/world.ts'

const world = lasting(createWorld)
beforeEach(async () => {
  await clear(world)
  await world.db.sql`delete from location`
})

const watchWhatIsSold = async () => {
  await watchKeywords(world, ['yoga'])
  await watch(world, 'chart_watch', { store: 'ios_store', collection: 'top_free_ios' })
  await watch(world, 'app_watch', { store: 'android_store', app_id: 'com.ashlune.yoga', reviews: true })
}

test('charts and reviews that the service does not offer are gaps that say so, once a slot', async (t) => {
  await loadReferences(world.db, world.client)
  await watchWhatIsSold()
  await buy(world)
  assert.equal((await collect(world)).stored, 1)

  const { sql } = world.db
  const gaps = await sql<{ function: string; gap: string; reason: string }[]>`
    select s.function, s.gap, s.reason from owed_slot s where s.gap = 'failed' order by 1`
  assert.deepEqual(
    gaps.map((gap) => [gap.function, gap.reason]),
    [
      [
        'app_list',
        '40400: The service does not offer charts of the ios_store: it has no such path. Nothing was ' +
          'bought. Disable the watch, or ask the service for them',
      ],
      [
        'app_reviews',
        '40400: The service does not offer reviews of the android_store: it has no such path. Nothing ' +
          'was bought. Disable the watch, or ask the service for them',
      ],
    ],
  )
  const problems = await sql<
    { message: string }[]
  >`select message from watch_problem order by watch_table desc`
  assert.equal(problems.length, 2)
  assert.match(problems[0]?.message ?? '', /The service does not offer charts of the ios_store/)
  assert.deepEqual(await readReservations(sql), [])
  assert.deepEqual(await readSpendDifferences(sql), [])

  const { client, paths } = await tamper(t, world, () => undefined)
  await buy(world, { client })
  assert.deepEqual(
    paths.filter((path) => path.endsWith('task_post')),
    [],
  )
})

test('while the service has given no places of a store, its tasks stay planned', async () => {
  await watch(world, 'chart_watch', { store: 'ios_store', collection: 'top_free_ios' })
  await assert.rejects(buy(world), { code: 'rejected', message: /Check APP_DATA_URL and APP_DATA_STORES/ })
  const states = await world.db.sql`select state from task`
  assert.deepEqual([...states], [{ state: 'planned' }])
})
