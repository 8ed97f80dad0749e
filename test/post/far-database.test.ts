/** A database that is far away: permits are counted in round trips, so that posts are sent all the same. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { describeDistance, permitValidMs, validMsAt } from '../../src/db/call-window.ts'
import { openDatabase } from '../../src/db/database.ts'
import { workPost } from '../../src/post/work-post.ts'
import { TIMINGS } from '../../src/timings.ts'
import { startDatabaseProxy } from '../support/database-proxy.ts'
import { lasting } from '../support/lasting.ts'
import { createWorld } from '../support/world.ts'
import { depsOf, planPost } from './posting.ts'

const world = lasting(createWorld)

test('a post that is too late is not sent, and the next one has the time that its way takes', async (t) => {
  const { url } = await startDatabaseProxy(t, world.db.url, { delayMs: 70 })
  const db = openDatabase(url)
  t.after(() => db.close())
  const postId = await planPost(world, ['yoga'])
  const deps = depsOf(world, { db })
  const { signal } = new AbortController()
  await assert.rejects(workPost(deps, postId, signal), /was not sent/)
  assert.ok(permitValidMs(db) >= 500 + 6 * 140)
  assert.deepEqual(await workPost(deps, postId, signal), {
    ...{ kind: 'settled', created: 1, failed: 0, released: 0, unknown: 0 },
  })
  const [window] = await world.db.sql<{ later: boolean }[]>`
    select max(permit_at) filter (where kind = 'task_post') > max(deadline_at)
      - make_interval(secs => 25.5) - interval '1 ms' as later from api_call`
  assert.ok(window?.later, 'the window counts from when the call may begin at the latest')
})

test('its distance is said with what it means, and never outlasts the grace of a runner', () => {
  assert.equal(describeDistance(2), null)
  assert.match(String(describeDistance(220)), /^The database is 220 ms away .*About 1,200 tasks a minute/)
  assert.match(String(describeDistance(900)), /900 ms away .*too far/)
  assert.equal(validMsAt(0), 500)
  assert.equal(validMsAt(60_000), TIMINGS.longestPermitMs)
})
