/** What a message says of an event, as a person reads it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { dayOf, describeEvent, toLines } from '../../src/alerts/content.ts'
import type { EventRow } from '../../src/alerts/event.ts'
import { KINDS } from '../../src/alerts/kinds/kinds.ts'

const SLOT = new Date('2026-03-09T00:00:00Z')
const EVENT: EventRow = {
  id: 1,
  rule_id: 1,
  subject: '',
  rule: 'mine',
  kind: 'rank_moved',
  severity: 'warning',
  slot: SLOT,
  store: null,
  keyword: null,
  collection: null,
  category: null,
  location: null,
  language: null,
  app_id: null,
  app: null,
  rival_id: null,
  rival: null,
  before: null,
  after: null,
  compared_slot: null,
  depth: null,
  depth_before: null,
  check_url: null,
  detail: {},
  timezone: 'Europe/Berlin',
  cooldown_ms: 0,
  weight: 1,
  place: null,
  latest: null,
  told_slot: null,
}
const YOGA = { store: 'ios_store', keyword: 'yoga', place: 'US', language: 'en' } as const
const DAY_BEFORE = { compared_slot: new Date('2026-03-08T00:00:00Z') }

const told = new Set<string>()
const say = (changes: Partial<EventRow>) => {
  const event = { ...EVENT, ...changes }
  told.add(event.kind)
  return describeEvent(event)
}

test('of money and jobs it says since when and how long, in sentences', () => {
  const balance = (micros: number, after: number) =>
    say({ kind: 'balance_low', after, detail: { left_micros: micros, micros_a_day: 36_750 } })
  assert.equal(balance(110_250, 3), 'The balance of the account, $0.11025, lasts 3 days at $0.03675 a day.')
  assert.equal(balance(-5, -0.1), 'The balance of the account is used up; a day costs $0.03675.')
  const late = (error: string | null) => say({ kind: 'job_late', after: 31, detail: { job: 'audit', error } })
  assert.equal(late('Connection reset'), 'The job audit has not succeeded for 31 hours: Connection reset.')
  assert.equal(late(null), 'The job audit has not succeeded for 31 hours.')
})

test('of a list it says which, what was there before and now, and how deep it was looked', () => {
  const ranks = { ...YOGA, ...DAY_BEFORE, app: 'Ashlune', before: 8, depth: 100, depth_before: 100 }
  assert.equal(
    say({ ...ranks, after: null }),
    'yoga (iOS US, en): Ashlune fell from 8 to > 100 (of 100), compared with 2026-03-08.',
  )
  assert.equal(
    say({ ...ranks, kind: 'top_crossed', after: 14, detail: { top: 10 } }),
    'yoga (iOS US, en): Ashlune fell from 8 to 14 (of 100) out of the top 10, compared with ' + '2026-03-08.',
  )
  const gap = (detail: object) => say({ ...YOGA, kind: 'not_measured', detail: { days: 1, ...detail } })
  assert.equal(
    gap({ gap: 'budget', reason: 'project_budget' }),
    'yoga (iOS US, en): not measured for 1 day. The budget of the project was used up.',
  )
  assert.match(gap({ gap: 'failed', reason: 'No such place' }), /for 1 day\. No such place\.$/)
  assert.match(gap({ gap: 'missed', reason: null }), /for 1 day\. Nothing asked for it in time\.$/)
})

test('of a best rank and of a base it says which it is, and no day on which nothing was measured', () => {
  const ranks = { ...YOGA, ...DAY_BEFORE, app: 'Ashlune', before: 4, depth: 100 }
  const against = (compared_with: string, after: number | null) =>
    say({ ...ranks, after, detail: { compared_with } }).replace(/^.*?: /, '')
  assert.equal(against('base', 9), 'Ashlune fell to 9 (of 100) from its base of 4.')
  assert.equal(against('base', 1), 'Ashlune rose to 1 (of 100) from its base of 4.')
  assert.equal(
    against('best', null),
    'Ashlune fell to > 100 (of 100) from its best, 4, compared with 2026-03-08.',
  )
  assert.equal(against('best', 1), 'Ashlune rose from 4 to 1 (of 100), compared with 2026-03-08.')
})

test('of a page and a review it is one line, which no text of theirs leaves', () => {
  const page = { store: 'ios_store', place: 'US', language: 'en', app: 'Ash\u202e\u0007lune' } as const
  const fields = [
    { field: 'title', before: null, after: 'New\n<b>' },
    { field: 'update_notes', before: 'a', after: 'b' },
  ]
  assert.equal(
    say({ ...page, kind: 'listing_changed', detail: { fields } }),
    'Ash\u2407lune (iOS US, en): its page changed: title – → New <b>; update notes.',
  )
  assert.match(
    say({ ...page, kind: 'review_low', after: 1, detail: { title: 'Bad', text: 'one\n\ntwo\u009b' } }),
    /: a review of 1 star: Bad – one two\ufffd$/,
  )
})

test('a name that is written from right to left moves no number of the line', () => {
  const ranks = { ...YOGA, keyword: 'يوغا', app: 'Ashlune', before: 8, after: 14, depth: 100 }
  assert.equal(say(ranks), '\u2068يوغا\u2069 (iOS US, en): Ashlune fell from 8 to 14 (of 100).')
})

test('of a day it is a sentence by itself, and names some of many keywords', () => {
  const app = { ...DAY_BEFORE, app: 'Ashlune' }
  assert.equal(
    say({ ...app, kind: 'visibility_moved', before: 40, after: 36, detail: { tag: 'brand' } }),
    'The visibility of Ashlune fell from 40 % to 36 % (tag brand), compared with 2026-03-08.',
  )
  assert.equal(
    say({ ...app, kind: 'top_count_moved', before: 4, after: 1, detail: { top: 10 } }),
    'Ashlune is in the top 10 of 1 keyword, and was in that of 4, compared with 2026-03-08.',
  )
  const found = { app: 'Newcomer', kind: 'new_app', before: 0 }
  assert.equal(
    say({ ...found, after: 5, detail: { top: 10, keywords: ['yoga', 'pilates', 'tai chi'] } }),
    'Newcomer is new in the top 10 of 5 keywords: yoga, pilates, tai chi and 2 more.',
  )
  assert.match(
    say({ ...found, after: 3, detail: { top: 10, keywords: ['yoga', 'yoga', 'pilates'] } }),
    /3 keywords: yoga, pilates and 1 more\.$/,
  )
  assert.equal(
    say({ ...found, after: 2, detail: { top: 10, keywords: ['yoga', 'pilates'] } }),
    'Newcomer is new in the top 10 of 2 keywords: yoga, pilates.',
  )
})

test('of a day it says the day of the project, and the app once', () => {
  const slot = new Date('2026-03-08T23:00:00Z')
  const compared_slot = new Date('2026-03-07T23:00:00Z')
  assert.equal(
    say({
      slot,
      compared_slot,
      kind: 'visibility_moved',
      store: 'ios_store',
      app: 'Ashlune',
      before: 40,
      after: 36,
    }),
    'iOS: the visibility of Ashlune fell from 40 % to 36 %, compared with 2026-03-08.',
  )
  const budget = { kind: 'budget_used', detail: { budget: 'daily_usd of the project' } }
  assert.equal(dayOf({ ...EVENT, ...budget }, slot), '2026-03-09')
  assert.equal(dayOf(EVENT, slot), '2026-03-08')
  for (const timezone of ['Factory', 'localtime', 'posix/Europe/Berlin'])
    assert.equal(dayOf({ ...EVENT, ...budget, timezone }, slot), '2026-03-08')
})

test('of a competitor it says who is ahead now, and where the own app stands today', () => {
  const rivals = { ...YOGA, ...DAY_BEFORE, kind: 'overtaken', app: 'Ashlune', rival: 'Slowbarrow' }
  const detail = { rival_before: 24, rival_after: 24 }
  const ranks = { before: 14, after: 29, depth: 100, depth_before: 100 }
  assert.equal(
    say({ ...rivals, ...ranks, detail, latest: { rank: 52, depth: 100 } }),
    'yoga (iOS US, en): Slowbarrow (24, before 24) is now ahead of Ashlune, which went from 14 ' +
      'to 29, compared with 2026-03-08 (today 52).',
  )
  assert.match(
    say({ ...rivals, ...ranks, after: 14, detail, latest: { rank: null, depth: 100 } }),
    /which is 14 as before, compared with 2026-03-08 \(today > 100\)\.$/,
  )
})

test('a message has the gravest first, then what weighs most, and one line for one outage', () => {
  const gap = (id: number, keyword: string) => ({
    ...{ ...EVENT, ...YOGA, id, keyword, kind: 'not_measured' },
    detail: { gap: 'missed', reason: 'Major outage.', days: 1 },
  })
  const move = (id: number, weight: number, severity: EventRow['severity'] = 'warning') => ({
    ...{ ...EVENT, id, weight, severity, kind: 'top_crossed' },
    detail: { top: 10 },
  })
  const { lines, rest } = toLines(
    [
      gap(1, 'zen'),
      move(2, 1),
      gap(3, 'calm'),
      move(4, 8),
      gap(5, 'yoga'),
      gap(6, 'asana'),
      move(7, 1, 'critical'),
    ],
    3,
  )
  assert.deepEqual(
    lines.map(({ event }) => event),
    [7, 4, 1],
  )
  assert.equal(
    lines[2]?.text,
    '4 keywords and charts not measured for 1 day: asana, calm, yoga and 1 more. Major outage.',
  )
  assert.equal(rest, 1)
})

test('of ratings, of everybody and of an outage it says what is usual, and that it is over', () => {
  const page = { store: 'ios_store', place: 'US', language: 'en', app: 'Ashlune' } as const
  const market = { kind: 'market_moved', before: 2, after: 7.5, detail: { store: 'ios_store', own_moved: 9 } }
  const sentences: readonly [Partial<EventRow>, string][] = [
    [
      { ...page, kind: 'rating_below', before: 4.1, after: 3.9, detail: { limit: 4 } },
      'Ashlune (iOS US, en): the rating is 3.9, below 4; it was 4.1.',
    ],
    [
      { ...page, ...DAY_BEFORE, kind: 'rating_dropped', before: 4.1, after: 3.9 },
      'Ashlune (iOS US, en): the rating fell from 4.1 to 3.9, compared with 2026-03-08.',
    ],
    [
      { kind: 'share_of_voice_moved', app: 'Ashlune', before: 4, after: 8.25 },
      'The share of voice of Ashlune rose from 4 % to 8.3 %.',
    ],
    [
      { ...market, detail: { ...market.detail, verdict: 'everybody', own_change: -3 } },
      'All of iOS moved: apps by 7.5 places on average, where 2 is usual; your apps by 9 places on average ' +
        '(3 down).',
    ],
    [
      { ...market, detail: { ...market.detail, verdict: 'own', own_change: 0 } },
      'Only your apps moved in iOS: by 9 places on average (as many up as down); all apps by 7.5 places on ' +
        'average, as usual.',
    ],
    [
      {
        kind: 'budget_used',
        after: 80,
        detail: { budget: 'daily_usd of the project', used_micros: 800_000, limit_micros: 1_000_000 },
      },
      '80 % of the budget daily_usd of the project is used: $0.80 of $1.00.',
    ],
    [
      { kind: 'outage', detail: { endpoints: ['task_post'] } },
      'The service reports a major outage (task_post).',
    ],
    [
      { ...DAY_BEFORE, kind: 'outage', detail: { over: true, remaining: ['degraded_performance'] } },
      'The major outage of the service that began 2026-03-08 00:00 UTC is over; it still reports: degraded ' +
        'performance.',
    ],
  ]
  for (const [changes, sentence] of sentences) assert.equal(say(changes), sentence)
})

test('each kind has a sentence that is tried above', () => {
  assert.deepEqual(
    KINDS.filter(({ name }) => !told.has(name)).map(({ name }) => name),
    [],
  )
})
