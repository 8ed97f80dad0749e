/**
 * A client of the database is ended within a time limit: without one the driver waits for ever where the
 * server closes the connection meanwhile.
 */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

const PROJECT = join(import.meta.dirname, '../..')
/** Streams and files, which have an `end` too. */
const NO_CLIENTS = ['check', 'collector', 'file', 'parquet', 'writable']

test('whatever is ended without a time limit is no client of the database', () => {
  const ended = ['src', 'jobs'].flatMap((folder) =>
    globSync(`${folder}/**/*.ts`, { cwd: PROJECT }).flatMap((file) =>
      [...readFileSync(join(PROJECT, file), 'utf8').matchAll(/(\w+)\.end\(\)/g)].map(([, name]) => name),
    ),
  )
  assert.deepEqual([...new Set(ended)].sort(), NO_CLIENTS)
})
