/**
 * For `interrupted.proof.ts`: a test that never ends, with a process of its own and a session of the
 * database.
 */
import { spawn } from 'node:child_process'
import { test } from 'node:test'
import { createTestDatabase } from './database.ts'

test('hangs', async () => {
  const { sql } = await createTestDatabase()
  const child = spawn(process.execPath, ['--eval', 'setInterval(() => {}, 1000)'], { detached: true })
  await sql`select 1`
  process.stderr.write(`hangs beside ${child.pid}\n`)
  await sql`select pg_sleep(600)`
})
