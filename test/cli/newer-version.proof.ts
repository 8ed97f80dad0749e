/**
 * A runner of an older version beside the migration of a newer one. At most a minute: it looks at the
 * scheduler's own pace.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startSandbox } from '../../src/sandbox/server.ts'
import { startCommand } from '../support/command.ts'
import { createTestDatabase, migrateLater } from '../support/database.ts'
import { settingsOf } from '../support/sandbox-process.ts'

test('start ends in order with 2 when a newer storerank has migrated its database', async (t) => {
  const database = await createTestDatabase()
  t.after(() => database.drop())
  const sandbox = await startSandbox({ readyMs: 0 })
  t.after(() => sandbox.close())
  const runner = startCommand(t, ['start'], { env: settingsOf(database.url, sandbox.url) })
  await runner.says('job scheduled')
  await migrateLater(database.sql)
  const { code, stderr } = await runner.ended
  assert.equal(code, 2, stderr)
  assert.equal(
    stderr.trimEnd().split('\n').at(-1),
    'A newer storerank has migrated the database while this one was running, so this one has stopped ' +
      'in order. Update this installation and start it again.',
  )
  const left = await database.sql`
    select from pg_stat_activity where datname = current_database() and application_name like 'storerank%'`
  assert.equal(left.count, 0)
  const working = await database.sql`select from pgboss.job where state = 'active'`
  assert.equal(working.count, 0)
})
