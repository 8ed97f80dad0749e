/**
 * What a person may write as a rule or a channel of alerts: each mistake is refused by a rule that names it.
 */
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { KINDS } from '../../src/alerts/kinds/kinds.ts'
import { createTestDatabase } from '../support/database.ts'
import { lasting } from '../support/lasting.ts'
import { addPerson } from '../support/people.ts'

const database = lasting(createTestDatabase)
before(async () => {
  await database.sql`insert into project (name) values ('p')`
})

const RULE = { project: 'p', name: 'r', kind: 'rank_moved', threshold: 5 }
const CHANNEL = {
  name: 'c',
  kind: 'webhook',
  address: 'https://example.com/hook',
  secret_variable: 'ALERT_SECRET',
}
const of = (kind: string, fields: object = {}) => ({ kind, threshold: null, ...fields })

const SHARED = {
  name_1_to_100_trimmed: [{ name: '' }, { name: ' a' }, { name: 'x'.repeat(101) }],
  name_without_control_characters: [{ name: 'a\nb' }, { name: 'a\u202eb' }],
  note_at_most_10000_characters: [{ note: 'x'.repeat(10_001) }],
  note_without_control_characters: [{ note: 'a\u001bb' }],
}

const RULES: Record<string, readonly object[]> = {
  ...SHARED,
  store_known: [{ store: 'ios' }],
  app_id_form: [{ app_id: 'acme' }, { app_id: '12 ' }],
  role_own_competitor_or_any: [{ role: 'mine' }],
  keyword_1_to_700: [{ keyword: '' }],
  tag_1_to_100: [{ tag: '' }, { tag: 'x'.repeat(101) }],
  direction_any_up_or_down: [{ direction: 'left' }],
  bands_1_to_1000: [{ threshold_11_to_30: 0 }, { threshold_beyond: 1001 }],
  top_1_to_1000: [of('top_crossed', { top: 0 }), of('overtaken', { top: 1001 })],
  compared_with_known: [{ compared_with: 'yesterday' }],
  base_where_compared_with_base: [{ base: 3 }, { compared_with: 'base' }],
  base_1_to_1000: [{ compared_with: 'base', base: 0 }],
  window_days_only_of_best: [{ window_days: 30 }],
  window_days_2_to_400: [{ compared_with: 'best', window_days: 1 }],
  severity_known: [{ severity: 'high' }],
  cooldown_0_to_366_days: [{ cooldown: '-1 hour' }, { cooldown: '1 month' }, { cooldown: '367 days' }],
}

/** What does not fit to the kind is refused by a trigger, with the same names. */
const UNFIT: Record<string, readonly object[]> = {
  kind_of_rule: [of('rank_fell', { threshold: 5 })],
  column_of_kind: [
    of('rating_below', { threshold: 4, tag: 'core' }),
    of('outage', { keyword: 'a' }),
    of('outage', { store: 'ios_store' }),
    of('job_late', { threshold: 2, app_id: '1001' }),
    of('not_measured', { threshold: 2, app_id: '1001' }),
    of('new_app', { threshold: 2, top: 10, role: 'competitor' }),
    of('outage', { role: 'any' }),
    of('not_measured', { threshold: 2, direction: 'up' }),
    of('budget_used', { threshold: 80, compared_with: '7 days' }),
    of('outage', { threshold: 1 }),
    of('overtaken', { threshold: 1 }),
    of('rating_below', { threshold: 4, threshold_beyond: 3 }),
    { top: 10 },
    of('rating_dropped', { threshold: 1, compared_with: 'best' }),
  ],
  column_needed_by_kind: [
    { threshold: null },
    of('top_crossed'),
    of('new_app', { threshold: 3 }),
    of('top_count_moved', { threshold: 3 }),
  ],
  threshold_in_range_of_kind: [
    { threshold: 0 },
    { threshold: 1001 },
    { threshold: 'NaN' },
    of('rating_below', { threshold: 6 }),
    of('rating_dropped', { threshold: 5 }),
    of('review_low', { threshold: 0 }),
    of('not_measured', { threshold: 0 }),
    of('budget_used', { threshold: 0 }),
    of('budget_used', { threshold: 'NaN' }),
  ],
}

const email = (address: string) => ({ kind: 'email', address, secret_variable: null })
const CHANNELS: Record<string, readonly object[]> = {
  ...SHARED,
  kind_of_channel: [{ kind: 'sms' }],
  address_of_webhook_and_email: [{ address: null }, { kind: 'slack', address: 'https://hooks.example.com' }],
  without_known_sections: [{ without: ['money', 'monies'] }],
  webhook_https_unless_loopback: [
    'http://example.com/hook',
    'ftp://example.com',
    'https://',
    'https://me:secret@example.com/',
    'http://localhost.example.com/',
    'http://127.0.0.1.example.com/',
    'https://example.com/a b',
  ].map((address) => ({ address })),
  email_1_to_20_addresses: [
    '',
    'me',
    'me@host',
    'Me <me@example.com>',
    'a@b.c;d@e.f',
    `a@b.c${',a@b.c'.repeat(20)}`,
  ].map(email),
  address_at_most_2000: [{ address: `https://example.com/${'x'.repeat(2000)}` }],
  secret_of_webhook_and_slack: [{ secret_variable: null }, { ...email('a@b.c'), secret_variable: 'ALERT_X' }],
  secret_variable_form: ['DATABASE_URL', 'APP_DATA_PASSWORD', 'ALERT_', 'ALERT_a'].map((name) => ({
    secret_variable: name,
  })),
  digest_known: [{ digest: 'hourly' }],
  hour_0_to_23: [{ hour: 24 }, { hour: -1 }],
  max_lines_1_to_40: [{ max_lines: 0 }, { max_lines: 41 }],
  report_only_of_digest_by_email: [
    { report: true, digest: 'daily' },
    { ...email('a@b.c'), report: true },
  ],
}

for (const [table, valid, rules, unfit] of [
  ['alert_rule', RULE, RULES, UNFIT],
  ['alert_channel', CHANNEL, CHANNELS, {}],
] as const) {
  test(`each rule of ${table} refuses what breaks it, by its name`, async () => {
    const { sql } = database
    for (const [rule, rows] of Object.entries<readonly object[]>({ ...rules, ...unfit })) {
      for (const row of rows) {
        const insert = sql`insert into ${sql(table)} ${sql({ ...valid, ...row })}`
        await assert.rejects(insert, { constraint_name: `${table}_${rule}` }, JSON.stringify(row))
      }
    }
    const checks = await sql<{ name: string }[]>`
      select conname as name from pg_constraint where conrelid = ${table}::regclass and contype = 'c'`
    assert.deepEqual(
      checks.map(({ name }) => name).sort(),
      Object.keys(rules)
        .map((rule) => `${table}_${rule}`)
        .sort(),
    )
  })
}

describe('rows that are right', () => {
  test('are taken: each kind of channel, each kind of rule, and a channel by its name', async () => {
    const { sql } = database
    for (const [n, fields] of [
      {},
      { address: 'http://127.0.0.1:8080/hook?x=1' },
      { address: 'http://[::1]:8080' },
      ...['slack', 'teams', 'discord'].map((kind) => ({ kind, address: null })),
      {
        ...email("ann@example.com, o'neil+`{x}@mail.example.co.uk"),
        digest: 'weekly',
        hour: 7,
        report: true,
      },
    ].entries()) {
      await sql`insert into alert_channel ${sql({ ...CHANNEL, ...fields, name: `channel ${n}` })}`
    }
    const kinds: Record<string, object> = {
      rank_moved: { threshold: 3, threshold_11_to_30: 5, threshold_beyond: 20, compared_with: '7 days' },
      'rank_moved best': { threshold: 3, compared_with: 'best', window_days: 30 },
      'rank_moved base': { threshold: 3, compared_with: 'base', base: 5 },
      top_crossed: { top: 10, direction: 'down' },
      overtaken: { keyword: 'yoga' },
      not_measured: { threshold: 2 },
      visibility_moved: { threshold: 10, tag: 'core' },
      share_of_voice_moved: { threshold: 10 },
      top_count_moved: { threshold: 3, top: 10 },
      new_app: { threshold: 3, top: 10 },
      rating_below: { threshold: 4.2 },
      rating_dropped: { threshold: 0.2, compared_with: '30 days' },
      review_low: { threshold: 2, cooldown: '6 hours' },
      listing_changed: { role: 'competitor' },
      budget_used: { threshold: 80, severity: 'critical' },
      balance_low: { threshold: 5 },
      job_late: { threshold: 6 },
      outage: {},
      market_moved: { threshold: 2 },
    }
    const tried = new Set(Object.keys(kinds).map((name) => name.split(' ')[0]))
    assert.deepEqual(
      KINDS.filter(({ name }) => !tried.has(name)),
      [],
    )
    for (const [name, fields] of Object.entries(kinds)) {
      const [kind = ''] = name.split(' ')
      await sql`insert into alert_rule ${sql({ project: 'p', name, kind, channel: 'channel 0', ...fields })}`
    }
    await sql`update alert_channel set name = 'renamed' where name = 'channel 0'`
    const [row] = await sql`select count(*)::int as rules from alert_rule where channel = 'renamed'`
    assert.equal(row?.rules, Object.keys(kinds).length)
    await assert.rejects(sql`delete from alert_channel where name = 'renamed'`, {
      code: '23503',
      message: `The channel "renamed" is named by ${Object.keys(kinds).length} rules, and is not deleted.`,
    })
    for (const [fields, message] of [
      [{ channel: 'renamde' }, 'There is no channel "renamde". Did you mean renamed?'],
      [{ project: 'q' }, /^There is no project "q"\./],
    ] as const)
      await assert.rejects(sql`insert into alert_rule ${sql({ ...RULE, ...fields })}`, {
        code: '23503',
        message,
      })
    await sql`delete from alert_rule`
  })

  test('are written by an editor; a reader sees rules and what they found, and no address', async () => {
    const editor = await addPerson(database.sql, 'storerank_editor')
    const reader = await addPerson(database.sql, 'storerank_reader')
    try {
      await editor.sql`insert into alert_channel ${editor.sql({ ...CHANNEL, name: 'theirs' })}`
      await editor.sql`insert into alert_rule ${editor.sql({ ...RULE, name: 'theirs', channel: 'theirs' })}`
      await assert.rejects(editor.sql`select from alert_event`, { code: '42501' })
      assert.equal((await reader.sql`select from alert_rule`).length, 1)
      assert.equal((await reader.sql`select from alert_history`).length, 0)
      await assert.rejects(reader.sql`select address from alert_channel`, { code: '42501' })
      await assert.rejects(reader.sql`update alert_rule set enabled = false`, { code: '42501' })
    } finally {
      await editor.remove()
      await reader.remove()
    }
  })
})
