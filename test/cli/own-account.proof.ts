/** Signals, kills and the cron runner of a person with a database and an account. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { describe, test } from 'node:test'
import { runCommand, startCommand } from '../support/command.ts'
import { until } from '../support/embedded.ts'
import {
  books,
  KEYWORDS,
  PASSWORD,
  settings,
  startProxy,
  watchKeywords,
  withDatabase,
} from './own-account-world.ts'

const isPost = ({ url }: IncomingMessage) => url?.endsWith('/task_post') === true

describe('SIGTERM', () => {
  test('while a post is on its way waits for the answer and settles it', (t) =>
    withDatabase(async (database) => {
      await watchKeywords(database)
      let held: (() => void) | undefined
      const proxy = await startProxy((incoming, pass) => {
        if (isPost(incoming)) held = pass
        else pass()
      })
      try {
        const run = startCommand(t, ['run'], settings(database, { APP_DATA_URL: proxy.url }))
        await until('a post is on its way', () => held !== undefined)
        const processes = readdirSync('/proc')
          .filter((name) => /^\d+$/.test(name))
          .map((pid) => readIfThere(`/proc/${pid}/cmdline`))
        assert.ok(processes.some((line) => line.includes('storerank.js')))
        assert.ok(!processes.some((line) => line.includes(PASSWORD) || line.includes('hush-db')))

        run.child.kill('SIGTERM')
        await run.says('stopping in order')
        // A slow service: the answer comes long after a command without a grace time would have gone.
        setTimeout(() => held?.(), 2_000)
        const { code, stderr } = await run.ended
        assert.equal(code, 143)
        assert.match(
          stderr,
          /\nStopped\. What was sent is settled; the next run goes on where this one ended\.\n$/,
        )
        const states = await database.sql`select state, count(*)::int from task group by 1`
        assert.deepEqual([...states], [{ state: 'posted', count: KEYWORDS.length }])
      } finally {
        proxy.close()
      }
      const { code } = await runCommand(t, ['run'], settings(database))
      assert.equal(code, 0)
      const states = await database.sql`select state, attempt, count(*)::int from task group by 1, 2`
      assert.deepEqual([...states], [{ state: 'collected', attempt: 1, count: KEYWORDS.length }])
    }))

  test('while a post is never answered leaves it unknown, and says so', (t) =>
    withDatabase(async (database) => {
      await watchKeywords(database)
      const dead: IncomingMessage[] = []
      const proxy = await startProxy((incoming, pass) => {
        if (isPost(incoming)) dead.push(incoming.resume())
        else pass()
      })
      try {
        const run = startCommand(t, ['run'], settings(database, { APP_DATA_URL: proxy.url }))
        await until('a post is on its way', () => dead.length > 0)
        run.child.kill('SIGTERM')
        await run.says('stopping in order')
        for (const incoming of dead) incoming.socket.destroy()
        const { stderr } = await run.ended
        assert.match(stderr, /\nStopped\. 1 posts have no answer: they are unknown/)
        const posts = await database.sql`select state from post`
        assert.deepEqual([...posts], [{ state: 'unknown' }])
      } finally {
        proxy.close()
      }
    }))
})

test('a run that is killed in the middle is finished by the next one, and nothing is bought twice', (t) =>
  withDatabase(async (database) => {
    await watchKeywords(database)
    const before = await books()
    const proxy = await startProxy((incoming, pass) => {
      // Only what is posted and settled is asked for: the tasks are paid, and nothing is collected.
      if (incoming.url?.endsWith('/tasks_ready')) killed.child.kill('SIGKILL')
      else pass()
    })
    const killed = startCommand(t, ['run'], settings(database, { APP_DATA_URL: proxy.url }))
    assert.equal((await killed.ended).code, null)
    proxy.close()

    assert.equal((await runCommand(t, ['run'], settings(database))).code, 0)
    const tasks = await database.sql`select state, attempt, count(*)::int from task group by 1, 2`
    assert.deepEqual([...tasks], [{ state: 'collected', attempt: 1, count: KEYWORDS.length }])
    assert.equal((await books()).tasks, before.tasks + KEYWORDS.length)
  }))

test('start catches up, and SIGTERM ends it in order with 0', (t) =>
  withDatabase(async (database) => {
    await watchKeywords(database)
    const runner = startCommand(t, ['start'], settings(database))
    await until('what is due is measured', async () => {
      const rows = await database.sql`select from task where state = 'posted'`
      return rows.length === KEYWORDS.length
    })
    const listed = await runCommand(
      t,
      ['sql', 'select count(*)::int as tasks from task', '--json'],
      settings(database),
    )
    assert.deepEqual(JSON.parse(listed.stdout), [{ tasks: KEYWORDS.length }])
    runner.child.kill('SIGTERM')
    const { code, stderr } = await runner.ended
    assert.equal(code, 0, stderr)
    assert.equal(JSON.parse(stderr.trimEnd().split('\n').at(-1) ?? '').msg, 'stopped')
    const left = await database.sql`select from pg_stat_activity where datname = current_database()
        and application_name like 'storerank%'`
    assert.equal(left.length, 0)
  }))

function readIfThere(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}
