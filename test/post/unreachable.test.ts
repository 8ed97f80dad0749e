/** While the service cannot be reached nothing is posted, and what waits says why. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AccountError, UnavailableError } from '../../src/errors.ts'
import { findTroubles, readFigures } from '../../src/monitor/figures.ts'
import { lasting } from '../support/lasting.ts'
import { createWorld } from '../support/world.ts'
import { planPost, replaceCalls, work } from './posting.ts'

const world = lasting(createWorld)

async function findNotPosted(): Promise<string[]> {
  const troubles = findTroubles(await readFigures(world.db, world.settings))
  return troubles.filter(({ kind }) => kind === 'not_posted').map(({ message }) => message)
}

test('a post says why it waits while the list of tasks cannot be read, until it is sent', async () => {
  const postId = await planPost(world, ['yoga'])
  const failing = (error: Error) => ({
    client: replaceCalls(world.client, {
      readListEnd: async () => {
        throw error
      },
    }),
  })
  const refused = new AccountError('The service refuses the login.')
  const unreachable = new UnavailableError('GET /v3 failed: ECONNREFUSED. Check the address of the service.')

  await assert.rejects(work(world, postId, failing(refused)), refused)
  assert.deepEqual(await findNotPosted(), ['1 posts are not sent. The service refuses the login.'])
  await assert.rejects(work(world, postId, failing(unreachable)), unreachable)
  assert.deepEqual(await findNotPosted(), [
    '1 posts are not sent. GET /v3 failed: ECONNREFUSED. Check the address of the service.',
  ])

  assert.equal((await work(world, postId)).kind, 'settled')
  assert.deepEqual(await findNotPosted(), [])
})
