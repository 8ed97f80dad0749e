/** What a message says of an event, as a person reads it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { dayOf, describeEvent, toLines } from '../../src/alerts/content.ts'
import type { EventRow } from '../../src/alerts/event.ts'
import { KINDS } from '../../src/alerts/kinds/kinds.ts'
import { column } from '../support/database.ts'
import { EVENT } from '../support/message.ts'

const DAY_BEFORE = { compared_slot: new Date('2026-03-08T00:00:00Z') }
const YOGA = { store: 'ios_store', keyword: 'yoga', place: 'US', language: 'en' } as const
const MOVED = { ...YOGA, app: 'Ashlune', depth: 100, depth_before: 100 } as const
const OVERTAKEN = { ...MOVED, ...DAY_BEFORE, kind: 'overtaken', rival: 'Slowbarrow', before: 14 } as const
const PAGE = { store: 'ios_store', place: 'US', language: 'en', app: 'Ashlune' } as const
const OF_DAY = { ...DAY_BEFORE, app: 'Ashlune', before: 40, after: 36 } as const
const NEW_APP = { app: 'Newcomer', kind: 'new_app', before: 0 } as const
const BALANCE = { left_micros: 110_250, micros_a_day: 36_750 }
const MARKET = { store: 'ios_store', own_moved: 9 }
const FROM_RIGHT = 'يوغا'

/** By kind: what is known of the event, and its sentence. */
const SENTENCES: Readonly<Record<string, readonly (readonly [Partial<EventRow>, string])[]>> = {
  rank_moved: [
    [
      { ...MOVED, ...DAY_BEFORE, before: 8 },
      'yoga (iOS US, en): Ashlune fell from 8 to > 100 (of 100), compared with 2026-03-08.',
    ],
    // A name that is written from right to left moves no number of the line.
    [
      { ...MOVED, keyword: FROM_RIGHT, before: 8, after: 14 },
      `\u2068${FROM_RIGHT}\u2069 (iOS US, en): Ashlune fell from 8 to 14 (of 100).`,
    ],
    // Nothing was measured on the day of a base.
    [
      { ...MOVED, ...DAY_BEFORE, before: 4, after: 9, detail: { compared_with: 'base' } },
      'yoga (iOS US, en): Ashlune fell to 9 (of 100) from its base of 4.',
    ],
    [
      { ...MOVED, ...DAY_BEFORE, before: 4, after: 1, detail: { compared_with: 'base' } },
      'yoga (iOS US, en): Ashlune rose to 1 (of 100) from its base of 4.',
    ],
    [
      { ...MOVED, ...DAY_BEFORE, before: 4, detail: { compared_with: 'best' } },
      'yoga (iOS US, en): Ashlune fell to > 100 (of 100) from its best, 4, compared with 2026-03-08.',
    ],
    [
      { ...MOVED, ...DAY_BEFORE, before: 4, after: 1, detail: { compared_with: 'best' } },
      'yoga (iOS US, en): Ashlune rose from 4 to 1 (of 100), compared with 2026-03-08.',
    ],
  ],
  top_crossed: [
    [
      { ...MOVED, ...DAY_BEFORE, before: 8, after: 14, detail: { top: 10 } },
      'yoga (iOS US, en): Ashlune fell from 8 to 14 (of 100) out of the top 10, compared with 2026-03-08.',
    ],
  ],
  overtaken: [
    [
      {
        ...{ ...OVERTAKEN, after: 29, latest: { rank: 52, depth: 100 } },
        detail: { rival_before: 24, rival_after: 24 },
      },
      'yoga (iOS US, en): Slowbarrow (24, before 24) is now ahead of Ashlune, which went from 14 to 29, ' +
        'compared with 2026-03-08 (today 52).',
    ],
    [
      {
        ...{ ...OVERTAKEN, after: 14, latest: { rank: null, depth: 100 } },
        detail: { rival_before: 24, rival_after: 9 },
      },
      'yoga (iOS US, en): Slowbarrow (9, before 24) is now ahead of Ashlune, which is 14 as before, ' +
        'compared with 2026-03-08 (today > 100).',
    ],
  ],
  not_measured: [
    [
      { ...YOGA, detail: { days: 1, gap: 'budget', reason: 'project_budget' } },
      'yoga (iOS US, en): not measured for 1 day. The budget of the project was used up.',
    ],
    [
      { ...YOGA, detail: { days: 1, gap: 'failed', reason: 'No such place' } },
      'yoga (iOS US, en): not measured for 1 day. No such place.',
    ],
    [
      { ...YOGA, detail: { days: 1, gap: 'missed', reason: null } },
      'yoga (iOS US, en): not measured for 1 day. Nothing asked for it in time.',
    ],
  ],
  visibility_moved: [
    [
      { ...OF_DAY, detail: { tag: 'brand' } },
      'The visibility of Ashlune fell from 40 % to 36 % (tag brand), compared with 2026-03-08.',
    ],
    // The day of the project began at 23:00 UTC.
    [
      { ...OF_DAY, store: 'ios_store', compared_slot: new Date('2026-03-07T23:00:00Z') },
      'iOS: the visibility of Ashlune fell from 40 % to 36 %, compared with 2026-03-08.',
    ],
  ],
  share_of_voice_moved: [
    [{ app: 'Ashlune', before: 4, after: 8.25 }, 'The share of voice of Ashlune rose from 4 % to 8.3 %.'],
  ],
  top_count_moved: [
    [
      { ...OF_DAY, before: 4, after: 1, detail: { top: 10 } },
      'Ashlune is in the top 10 of 1 keyword, and was in that of 4, compared with 2026-03-08.',
    ],
  ],
  new_app: [
    [
      { ...NEW_APP, after: 5, detail: { top: 10, keywords: ['yoga', 'pilates', 'tai chi'] } },
      'Newcomer is new in the top 10 of 5 keywords: yoga, pilates, tai chi and 2 more.',
    ],
    [
      { ...NEW_APP, after: 3, detail: { top: 10, keywords: ['yoga', 'yoga', 'pilates'] } },
      'Newcomer is new in the top 10 of 3 keywords: yoga, pilates and 1 more.',
    ],
    [
      { ...NEW_APP, after: 2, detail: { top: 10, keywords: ['yoga', 'pilates'] } },
      'Newcomer is new in the top 10 of 2 keywords: yoga, pilates.',
    ],
  ],
  market_moved: [
    [
      { before: 2, after: 7.5, detail: { ...MARKET, verdict: 'everybody', own_change: -3 } },
      'All of iOS moved: apps by 7.5 places on average, where 2 is usual; your apps by 9 places on average ' +
        '(3 down).',
    ],
    [
      { before: 2, after: 7.5, detail: { ...MARKET, verdict: 'own', own_change: 0 } },
      'Only your apps moved in iOS: by 9 places on average (as many up as down); all apps by 7.5 places on ' +
        'average, as usual.',
    ],
  ],
  rating_below: [
    [
      { ...PAGE, before: 4.1, after: 3.9, detail: { limit: 4 } },
      'Ashlune (iOS US, en): the rating is 3.9, below 4; it was 4.1.',
    ],
  ],
  rating_dropped: [
    [
      { ...PAGE, ...DAY_BEFORE, before: 4.1, after: 3.9 },
      'Ashlune (iOS US, en): the rating fell from 4.1 to 3.9, compared with 2026-03-08.',
    ],
  ],
  // No text of theirs leaves the line.
  review_low: [
    [
      { ...PAGE, after: 1, detail: { title: 'Bad', text: 'one\n\ntwo\u009b' } },
      'Ashlune (iOS US, en): a review of 1 star: Bad – one two\ufffd',
    ],
  ],
  listing_changed: [
    [
      {
        ...{ ...PAGE, app: 'Ash\u202e\u0007lune' },
        detail: {
          fields: [
            { field: 'title', before: null, after: 'New\n<b>' },
            { field: 'update_notes', before: 'a', after: 'b' },
          ],
        },
      },
      'Ash\u2407lune (iOS US, en): its page changed: title – → New <b>; update notes.',
    ],
  ],
  budget_used: [
    [
      {
        after: 80,
        detail: { budget: 'daily_usd of the project', used_micros: 800_000, limit_micros: 1_000_000 },
      },
      '80 % of the budget daily_usd of the project is used: $0.80 of $1.00.',
    ],
  ],
  balance_low: [
    [{ after: 3, detail: BALANCE }, 'The balance of the account, $0.11025, lasts 3 days at $0.03675 a day.'],
    [
      { after: -0.1, detail: { ...BALANCE, left_micros: -5 } },
      'The balance of the account is used up; a day costs $0.03675.',
    ],
  ],
  job_late: [
    [
      { after: 31, detail: { job: 'audit', error: 'Connection reset' } },
      'The job audit has not succeeded for 31 hours: Connection reset.',
    ],
    [{ after: 31, detail: { job: 'audit', error: null } }, 'The job audit has not succeeded for 31 hours.'],
  ],
  outage: [
    [{ detail: { endpoints: ['task_post'] } }, 'The service reports a major outage (task_post).'],
    [
      { ...DAY_BEFORE, detail: { over: true, remaining: ['degraded_performance'] } },
      'The major outage of the service that began 2026-03-08 00:00 UTC is over; it still reports: degraded ' +
        'performance.',
    ],
  ],
  // Of another version, of which there are events.
  of_tomorrow: [[{}, 'of_tomorrow']],
}

for (const [kind, cases] of Object.entries(SENTENCES)) {
  test(`an event of the kind ${kind} is told in a sentence`, () => {
    for (const [changes, sentence] of cases)
      assert.equal(describeEvent({ ...EVENT, kind, ...changes }), sentence)
  })
}

test('each kind has a sentence that is tried above', () => {
  assert.deepEqual(
    KINDS.filter(({ name }) => SENTENCES[name] === undefined).map(({ name }) => name),
    [],
  )
})

test('what is of a day or of a budget of the project has its day, all else that of UTC', () => {
  const slot = new Date('2026-03-08T23:00:00Z')
  const ofBudget = { ...EVENT, kind: 'budget_used', detail: { budget: 'daily_usd of the project' } }
  assert.equal(dayOf(ofBudget, slot), '2026-03-09')
  assert.equal(dayOf(EVENT, slot), '2026-03-08')
  // Node does not know all names of Postgres.
  for (const timezone of ['Factory', 'localtime', 'posix/Europe/Berlin'])
    assert.equal(dayOf({ ...ofBudget, timezone }, slot), '2026-03-08')
})

test('a message has the gravest first, then what weighs most, and one line for one outage', () => {
  const detail = { gap: 'missed', reason: 'Major outage.', days: 1 }
  const gap = (id: number, keyword: string) => ({
    ...EVENT,
    ...YOGA,
    id,
    keyword,
    kind: 'not_measured',
    detail,
  })
  const move = (id: number, weight: number, severity: EventRow['severity'] = 'warning') => ({
    ...{ ...EVENT, id, weight, severity, kind: 'top_crossed', detail: { top: 10 } },
  })
  const gaps = [gap(1, 'zen'), gap(3, 'calm'), gap(5, 'yoga'), gap(6, 'asana')]
  const { lines, rest } = toLines([...gaps, move(2, 1), move(4, 8), move(7, 1, 'critical')], 3)
  assert.deepEqual(column(lines, 'event'), [7, 4, 1])
  assert.equal(
    lines[2]?.text,
    '4 keywords and charts not measured for 1 day: asana, calm, yoga and 1 more. Major outage.',
  )
  assert.equal(rest, 1)
})
