import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openCluster, sharedBuffers } from '../../src/embedded/cluster.ts'

const GIB = 1024 ** 3

test('the embedded server caches a sixteenth of the memory, within bounds', () => {
  assert.deepEqual(
    [0.5, 2, 4, 8, 16, 64].map((gib) => sharedBuffers(gib * GIB)),
    ['128MB', '128MB', '256MB', '512MB', '1024MB', '1024MB'],
  )
})

test('where no folder can be made the server is told to be nowhere, and nobody waits', async () => {
  for (const home of ['/proc/nowhere/x', '/proc/1/nowhere', '/dev/null/x']) {
    await assert.rejects(openCluster(home), /The embedded PostgreSQL cannot be made in .*: .+ \(E[A-Z]+\)\. /)
  }
})
