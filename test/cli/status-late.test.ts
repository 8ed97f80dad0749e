/** `status --check` answers within its time, whatever the database does. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pino } from 'pino'
import type { CommandContext } from '../../src/cli/command.ts'
import { checkStatus } from '../../src/cli/commands/status.ts'
import { readConfig } from '../../src/config.ts'
import { collectText } from '../support/command.ts'
import { createTestDatabase } from '../support/database.ts'
import { startDatabaseProxy } from '../support/database-proxy.ts'

/** Less than a person would wait for, and more than a look takes. */
const WITHIN_MS = 3_000

async function check(url: string) {
  const stderr = collectText()
  const context = {
    config: readConfig({ DATABASE_URL: url }),
    log: pino({ level: 'silent' }),
    signal: new AbortController().signal,
    ...{ stdout: collectText().output, stderr: stderr.output, isTerminal: false },
  } as unknown as CommandContext
  return { outcome: await checkStatus(context, WITHIN_MS), said: stderr.text() }
}

test('a table that a person has locked, a silent server, and one that falls silent', async (t) => {
  const database = await createTestDatabase()
  t.after(() => database.drop())
  const person = await database.sql.reserve()
  await person`begin`
  await person`lock table project`
  const locked = await check(database.url)
  await person`rollback`
  person.release()
  assert.equal(locked.outcome, 2)
  assert.match(locked.said, /^unknown: The database did not answer within 3 s\. Process \d+ /)
  assert.match(locked.said, /lock table project.*pg_terminate_backend/)
  const silent = [0, 20, 2_000].map(async (afterBytes) => {
    const proxy = await startDatabaseProxy(t, database.url, { breaking: { afterBytes, by: 'silence' } })
    const { outcome, said } = await check(proxy.url)
    // The server does nothing else for a login that is not over, and dropping a database waits for that.
    proxy.reset()
    assert.deepEqual([outcome, said], [2, 'unknown: The database did not answer within 3 s.\n'])
  })
  await Promise.all(silent)
})
