/**
 * Each kind of trouble that `test/cli/outages.proof.ts` does not live through, where an operator looks: the
 * metrics and the dashboard.
 */
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { createMetrics } from '../../src/monitor/metrics.ts'
import { SETTINGS } from '../bench/settings.ts'
import { readProblemsPanel } from '../grafana/problems-panel.ts'
import { openTestDatabase, sayStandby } from '../support/database.ts'
import { lasting } from '../support/lasting.ts'

interface Case {
  readonly kind: string
  /** SQL that makes it so, and that ends it. */
  readonly begin: string
  readonly end: string
  /** What the dashboard says. */
  readonly row: RegExp
}

const POSTED = `
  with post_of as (
    insert into post (store, function, state, send_before)
      values ('ios_store', 'app_searches', 'settled', now()) returning id)
  insert into task (target_id, slot, slot_ends_at, state, priority, estimate_micros, payers, post_id,
    service_id, posted_at, overdue_at, ask_at, endpoint)
  select t.id, slot_of('1 day', now()), now() + interval '1 day', 'posted', 1, 1200,
    array(select id from project), p.id, 'late',
    now() - interval '7 hours', now() - interval '6 hours', now() + interval '1 hour', 1
  from target t, post_of p`

const CASES: readonly Case[] = [
  {
    kind: 'read_only',
    begin: sayStandby(true),
    end: sayStandby(false),
    row: /^open work read_only: The database takes no changes: it is a standby, .*by itself\.$/,
  },
  {
    kind: 'restored',
    begin: `update ledger set recover_from = now() - interval '1 day'`,
    end: 'update ledger set recover_from = null',
    row: /^open work restored: The service lists tasks .*, then run `storerank recover`\.$/,
  },
  {
    kind: 'clock',
    begin: `insert into account_usage (login, prices, ahead_s) values ('', '[]', 36000)`,
    end: 'delete from account_usage',
    row: /^open work clock: The clock of the database server is 600 minutes ahead of that of the service/,
  },
  {
    kind: 'outage',
    begin:
      `insert into service_status (api, endpoint, status) values ('app_data', 'task_post', ` +
      `'major_outage')`,
    end: 'delete from service_status',
    row: /^service major_outage: .* nothing is posted\.$/,
  },
  {
    kind: 'no_run',
    begin: `update watch_period set started_at = now() - interval '13 hours';
      update period_change set from_slot = now() - interval '13 hours'`,
    end: 'update watch_period set started_at = now(); update period_change set from_slot = now()',
    row: /^open work no_run: Nothing was planned since .*\.$/,
  },
  {
    kind: 'unknown_posts',
    begin:
      `insert into post (store, function, state, send_before) values ('ios_store', 'app_searches', ` +
      `'unknown', now() - interval '2 hours')`,
    end: 'delete from post',
    row: /^open work unknown_post: What became of 1 posts is not known.* job reconcile fails\.$/,
  },
  {
    kind: 'overdue',
    begin: POSTED,
    end: 'with gone as (delete from task) delete from post',
    row: /^open work overdue: 1 results are late, .*$/,
  },
  {
    kind: 'books',
    begin:
      `insert into audit_difference (service_id, kind, posted_at, service_micros) values ('x', ` +
      `'missing', now(), 1200)`,
    end: 'delete from audit_difference',
    row: /^audit missing: .*\.$/,
  },
  {
    kind: 'not_told',
    begin: `
      with channel as (
        insert into alert_channel (name, kind, address, enabled, problem_kind, problem)
          values ('ops', 'email', 'a@example.com', false, 'receiver_gone', 'The address is gone.')
        returning name)
      insert into alert_rule (project, name, kind, threshold, channel)
        select 'p', 'r', 'rank_moved', 3, name from channel`,
    end: 'delete from alert_rule; delete from alert_channel',
    row: /The channel "ops" was disabled\. The address is gone\. /,
  },
]

describe('what an operator is told', () => {
  const db = lasting(openTestDatabase)
  before(async () => {
    await db.sql`insert into keyword_watch (project, store, keyword, location_code, language_code)
      values ('p', 'ios_store', 'yoga', 2840, 'en')`
    await db.sql`insert into job_run (job, slot, state, runner, started_at, ended_at)
      values ('track', now(), 'done', 'test', now(), now())`
  })
  const readMetrics = () => createMetrics(db, SETTINGS, 0).render()
  const readPanel = async () =>
    (await readProblemsPanel(db.url)).map(({ about, kind, message }) => `${about} ${kind}: ${message}`)

  for (const { kind, begin, end, row } of CASES) {
    test(`${kind}, in the metrics and on the dashboard, and no more when it is over`, async () => {
      const metric = new RegExp(`^storerank_troubles\\{kind="${kind}"\\} 1$`, 'm')
      await db.sql.unsafe(begin)
      const text = await readMetrics()
      assert.match(text, metric)
      assert.equal(/^storerank_database_up 1$/m.test(text), kind !== 'read_only')
      const shown = await readPanel()
      assert.ok(
        shown.some((line) => row.test(line)),
        shown.join('\n'),
      )
      await db.sql.unsafe(end)
      assert.doesNotMatch(await readMetrics(), metric)
      assert.ok(!(await readPanel()).some((line) => row.test(line)))
    })
  }
})
