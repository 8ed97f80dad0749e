/** Kinds that speak of the pages of apps and of their reviews, in the measurements of one slot. */
import { toPrintable } from '../../log.ts'
import { countOf } from '../../text/words.ts'
import { type AlertKind, DUE_TARGETS, MEANS_APP, OF_SLOT, PROJECT, SLOT, STORE_AND_APP } from './kind.ts'

const LONGEST_VALUE = 200
const LONGEST_REVIEW = 500
/** A store may show a review so many days late; an older one came to light by a greater depth. */
const REVIEW_DELAY_DAYS = 7

/** The pages `m` that were measured in the slot and that a rule `r` means. */
const PAGES = `app_history m on m.project = ${PROJECT} and m.slot = ${SLOT}
      and m.target_id = any(${DUE_TARGETS}) and m.outcome in ('measured', 'not_found')
      and (r.store is null or r.store = m.store) and ${MEANS_APP}`
const stars = (rating: string) => `round(${rating}::numeric, 3)`

const ratingBelow: AlertKind = {
  name: 'rating_below',
  tells: 'the rating on an app’s page',
  more: 'once, until it was not below',
  takes: STORE_AND_APP,
  threshold: { counts: 'stars', from: 1, to: 5 },
  source: OF_SLOT,
  select: `
    select r.id as rule_id, format('%s:%s', m.target_id, m.app) as subject, m.slot,
      coalesce(good.slot, '-infinity') as compared_slot, m.target_id, m.app, good.rating as before,
      ${stars('m.rating')} as after, jsonb_build_object('limit', r.threshold) as detail
    from rule r
    join ${PAGES}
    left join lateral (
      select h.slot, ${stars('h.rating')} as rating from app_history h
      where h.project = ${PROJECT} and h.target_id = m.target_id and h.slot < m.slot
        and ${stars('h.rating')} >= r.threshold
      order by h.slot desc limit 1
    ) good on true
    where r.kind = 'rating_below' and ${stars('m.rating')} < r.threshold`,
  sentence: ({ before, after, detail }) =>
    `the rating is ${after}, below ${detail.limit}${before === null ? '' : `; it was ${before}`}.`,
}

const ratingDropped: AlertKind = {
  name: 'rating_dropped',
  tells: 'the rating against a day before',
  takes: [...STORE_AND_APP, 'compared_with'],
  threshold: { counts: 'stars', from: 0.01, to: 4 },
  source: OF_SLOT,
  select: `
    select r.id as rule_id, format('%s:%s', m.target_id, m.app) as subject, m.slot, b.slot as compared_slot,
      m.target_id, m.app, ${stars('b.rating')} as before, ${stars('m.rating')} as after
    from rule r
    join ${PAGES}
    join app_history b on b.project = ${PROJECT} and b.target_id = m.target_id
      and b.slot = ${SLOT} - make_interval(hours => 24 * r.days)
    where r.kind = 'rating_dropped' and ${stars('b.rating')} - ${stars('m.rating')} >= r.threshold::numeric`,
  sentence: ({ before, after, comparedWith }) => `the rating fell from ${before} to ${after}${comparedWith}.`,
}

const reviewLow: AlertKind = {
  name: 'review_low',
  tells: 'a new review of an app whose reviews are followed',
  more: 'each once',
  takes: STORE_AND_APP,
  threshold: { counts: 'at most so many stars', from: 1, to: 5 },
  source: OF_SLOT,
  // Reviews that the measurement before did not show; the first measurement of all shows what there was.
  select: `
    select r.id as rule_id, format('%s:%s', m.app, m.review_id) as subject, s.slot,
      timestamptz '-infinity' as compared_slot, s.target_id, m.app, m.rating as after,
      jsonb_build_object('title', left(m.title, ${LONGEST_VALUE}), 'text', left(m.text, ${LONGEST_REVIEW}),
        'author', left(m.author, ${LONGEST_VALUE}), 'version', m.version) as detail
    from app_slot s
    join target t on t.id = s.target_id and t.function = 'app_reviews'
    cross join lateral (
      select e.captured_at from app_slot e
      where e.project = ${PROJECT} and e.target_id = s.target_id and e.slot < s.slot and e.gap is null
      order by e.slot desc limit 1
    ) earlier
    join app_review m on m.project = ${PROJECT} and m.app = s.app
      and m.first_seen_at > earlier.captured_at and m.first_seen_at <= s.captured_at
      and coalesce(m.written_at, m.first_seen_at)
        > earlier.captured_at - make_interval(days => ${REVIEW_DELAY_DAYS})
    join rule r on (r.store is null or r.store = m.store) and ${MEANS_APP}
    where s.project = ${PROJECT} and s.slot = ${SLOT} and s.target_id = any(${DUE_TARGETS}) and s.gap is null
      and r.kind = 'review_low' and m.rating <= r.threshold`,
  sentence: ({ after, detail }) => {
    const version = detail.version ? ` (version ${detail.version})` : ''
    const text = toPrintable([detail.title, detail.text].filter(Boolean).join(' – '))
    return `a review of ${countOf(after ?? 0, 'star')}${version}: ${text}`
  },
}

const listingChanged: AlertKind = {
  name: 'listing_changed',
  tells: 'title, texts, version, price and so on of a page that is followed',
  more: 'all that changed at once is one event',
  takes: STORE_AND_APP,
  source: OF_SLOT,
  select: `
    select r.id as rule_id, format('%s:%s', m.target_id, m.app) as subject, m.slot,
      min(m.previous_slot) as compared_slot, m.target_id, m.app,
      jsonb_build_object('fields', jsonb_agg(jsonb_build_object('field', m.field,
        'before', left(m.old_value, ${LONGEST_VALUE}), 'after', left(m.new_value, ${LONGEST_VALUE}))
        order by m.field)) as detail
    from rule r
    join app_change m on m.project = ${PROJECT} and m.slot = ${SLOT} and m.target_id = any(${DUE_TARGETS})
      and (r.store is null or r.store = m.store) and ${MEANS_APP}
    where r.kind = 'listing_changed'
    group by r.id, m.target_id, m.app, m.slot`,
  sentence: ({ detail }) =>
    `its page changed: ${(detail.fields as readonly ChangedField[]).map(describeField).join('; ')}.`,
}

const SHOWN_FIELDS = /^(title|version|price|rating|size|is_free|main_category)$/

interface ChangedField {
  readonly field: string
  readonly before: string | null
  readonly after: string | null
}

function describeField({ field, before, after }: ChangedField): string {
  const name = field.replaceAll('_', ' ')
  return SHOWN_FIELDS.test(field) ? `${name} ${showField(before)} → ${showField(after)}` : name
}

/** What was not there before, or is not there now, is a dash. */
function showField(value: string | null): string {
  return value === null || value === '' ? '–' : toPrintable(value)
}

export const PAGE_KINDS: readonly AlertKind[] = [ratingBelow, ratingDropped, reviewLow, listingChanged]
