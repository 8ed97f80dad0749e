import assert from 'node:assert/strict'
import { test } from 'node:test'
import { giveUpResults } from '../../src/ledger/task-failures.ts'
import { lasting } from '../support/lasting.ts'
import { buy, watchKeywords } from '../support/stages.ts'
import { createWorld } from '../support/world.ts'

const world = lasting(createWorld)

test('a result that the service has no longer is given up, and its slot says the last answer', async () => {
  const { sql } = world.db
  await watchKeywords(world, ['yoga', 'pilates'])
  await buy(world)
  assert.equal(await giveUpResults(world.db.sql), 0)

  await sql`
    update task k set posted_at = posted_at - case t.subject when 'yoga' then interval '33 days'
      else interval '31 days' end,
      problem = '40401: Task Not Found.'
    from target t where t.id = k.target_id`
  assert.equal(await giveUpResults(world.db.sql), 1)

  const tasks =
    await sql`select t.subject, k.state from task k join target t on t.id = k.target_id order by 1`
  assert.deepEqual(
    [...tasks],
    [
      { subject: 'pilates', state: 'posted' },
      { subject: 'yoga', state: 'failed' },
    ],
  )
  const gaps = await sql`select gap, reason from ranking`
  assert.deepEqual(
    [...gaps],
    [
      {
        gap: 'failed',
        reason:
          'Its result did not come while the service keeps results. The last answer was: 40401: Task ' +
          'Not Found.',
      },
    ],
  )
})
