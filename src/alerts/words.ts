/** What an event says, in one line. */
import { toPrintable } from '../log.ts'
import { countOf, explainReason, formatMicros, GAP_MEANINGS, STORE_NAMES } from '../report/words.ts'
import type { EventRow } from './event.ts'
import { OF_DAY } from './scope.ts'

/** `yoga (iOS, United States, en): Ashlune fell from 3 to 22 (of 100), compared with 3 Mar 2026.` */
export function describeEvent(given: EventRow): string {
  const event = {
    ...given,
    keyword: nameOf(given.keyword),
    app: nameOf(given.app),
    rival: nameOf(given.rival),
  }
  const where = describePlace(event)
  const text = describeChange(event)
  return (where === '' ? text.replace(/^the /, 'The ') : `${where}: ${text}`).replace(/\s+/g, ' ')
}

/** A name without what acts on the line around it; one that is written from right to left is set apart, so that it moves no number. */
function nameOf(name: string | null): string | null {
  if (name === null) return null
  const text = toPrintable(name)
  return /[\p{Script=Arabic}\p{Script=Hebrew}]/u.test(text) ? `\u2068${text}\u2069` : text
}

function describePlace(event: EventRow): string {
  const store = event.store === null ? null : STORE_NAMES[event.store]
  const place = [store, event.location, event.language].filter((part) => part !== null).join(', ')
  const list =
    event.keyword ?? (event.collection && [event.collection, event.category].filter(Boolean).join(', '))
  if (list) return `${list} (${place})`
  if (OF_DAY.includes(event.kind)) return place
  return event.app === null || place === '' ? '' : `${event.app} (${place})`
}

function describeChange(event: EventRow): string {
  const { kind, before, after, detail } = event
  const app = event.app ?? 'The app'
  const moved = isRise(event) ? 'rose' : 'fell'
  switch (kind) {
    case 'rank_moved':
      return describeMove(event, app)
    case 'top_crossed':
      return `${app} ${describeRanks(event)} ${isRise(event) ? 'into' : 'out of'} the top ${detail.top}${since(event)}.`
    case 'overtaken':
      return `${event.rival} (${rank(detail.rival_before, event.depthBefore)} → ${rank(detail.rival_after, event.depth)}) overtook ${app} (${rank(before, event.depthBefore)} → ${rank(after, event.depth)})${since(event)}.`
    case 'not_measured':
      return `not measured for ${countOf(Number(detail.days), 'day')}. ${explainGap(detail)}`
    case 'visibility_moved':
      return `the visibility of ${app} ${moved} from ${percent(before)} to ${percent(after)}${scope(event)}${since(event)}.`
    case 'share_of_voice_moved':
      return `the share of voice of ${app} ${moved} from ${percent(before)} to ${percent(after)}${scope(event)}${since(event)}.`
    case 'top_count_moved':
      return `${app} is in the top ${detail.top} of ${countOf(after ?? 0, 'keyword')}, and was in that of ${before}${scope(event)}${since(event)}.`
    case 'new_app':
      return `${app} is new in the top ${detail.top} of ${countOf(after ?? 0, 'keyword')}: ${nameSome(detail.keywords, after ?? 0)}.`
    default:
      return describeApp(event)
  }
}

/** Against the best rank or a rank of the rule, which is no measurement of the day that the event names. */
function describeMove(event: EventRow, app: string): string {
  const { before, after, depth, detail } = event
  const verb = isRise(event) ? 'rose' : 'fell'
  const now = `${rank(after, depth)}${ofDepth(depth)}`
  if (detail.compared_with === 'base') return `${app} ${verb} to ${now} from its base of ${before}.`
  if (detail.compared_with === 'best' && !isRise(event))
    return `${app} fell to ${now} from its best, ${before}${since(event)}.`
  return `${app} ${describeRanks(event)}${since(event)}.`
}

/** Why a measurement is missing: its own reason, else what its kind of gap means. */
function explainGap({ gap, reason }: EventRow['detail']): string {
  const text =
    explainReason(typeof reason === 'string' ? reason : null) ??
    GAP_MEANINGS[gap as keyof typeof GAP_MEANINGS] ??
    ''
  return endSentence(text)
}

function endSentence(text: string): string {
  return text === '' || /[.!?…]$/.test(text) ? text : `${text}.`
}

/** Examples of so many. A keyword of several places is named once. */
function nameSome(names: unknown, count: number): string {
  const some = [...new Set((names ?? []) as readonly string[])].map(nameOf)
  return some.join(', ') + (some.length < count ? ` and ${count - some.length} more` : '')
}

function describeApp(event: EventRow): string {
  const { kind, before, after, detail } = event
  switch (kind) {
    case 'rating_below':
      return `the rating is ${after}, below ${detail.limit}${before === null ? '' : `; it was ${before}`}.`
    case 'rating_dropped':
      return `the rating fell from ${before} to ${after}${since(event)}.`
    case 'review_low':
      return `a review of ${countOf(after ?? 0, 'star')}${detail.version ? ` (version ${detail.version})` : ''}: ${toPrintable([detail.title, detail.text].filter(Boolean).join(' – '))}`
    default:
      return describeRest(event)
  }
}

function describeRest({ kind, after, comparedSlot, detail }: EventRow): string {
  switch (kind) {
    case 'listing_changed':
      return `its page changed: ${(detail.fields as ChangedField[]).map(describeField).join('; ')}.`
    case 'budget_used':
      return `${after} % of the budget ${detail.budget} is used: ${formatMicros(Number(detail.used_micros))} of ${formatMicros(Number(detail.limit_micros))}.`
    case 'balance_low':
      if (Number(detail.left_micros) <= 0)
        return `The balance of the account is used up; a day costs ${formatMicros(Number(detail.micros_a_day))}.`
      return `The balance of the account, ${formatMicros(Number(detail.left_micros))}, lasts ${countOf(after ?? 0, 'day')} at ${formatMicros(Number(detail.micros_a_day))} a day.`
    case 'job_late':
      return `The job ${detail.job} has not succeeded for ${countOf(after ?? 0, 'hour')}${detail.error ? `: ${endSentence(String(detail.error))}` : '.'}`
    case 'outage':
      return describeOutage(comparedSlot, detail)
    default:
      return kind
  }
}

/** That it began, or that it is over. */
function describeOutage(began: EventRow['comparedSlot'], detail: EventRow['detail']): string {
  if (detail.over !== true)
    return `The service reports a major outage (${(detail.endpoints as string[]).join(', ')}).`
  const since = began === null ? '' : ` that began ${began.toISOString().slice(0, 16).replace('T', ' ')} UTC`
  const left = (detail.remaining as string[]).map((status) => status.replaceAll('_', ' '))
  return `The major outage of the service${since} is over${left.length === 0 ? '' : `; it still reports: ${left.join(', ')}`}.`
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

function describeRanks(event: EventRow): string {
  const { before, after, depth, depthBefore } = event
  const verb = isRise(event) ? 'rose' : 'fell'
  return `${verb} from ${rank(before, depthBefore)} to ${rank(after, depth)}${ofDepth(depth)}`
}

function ofDepth(depth: number | null): string {
  return depth === null ? '' : ` (of ${depth})`
}

/** Of ranks less is better; of all else more. */
function isRise({ kind, before, after }: EventRow): boolean {
  const isRank = kind === 'rank_moved' || kind === 'top_crossed'
  const beyond = isRank ? Number.POSITIVE_INFINITY : 0
  const [from, to] = [before ?? beyond, after ?? beyond]
  return isRank ? to < from : to > from
}

function rank(value: unknown, depth: number | null): string {
  if (typeof value === 'number') return String(value)
  return depth === null ? 'not in the top' : `> ${depth}`
}

function percent(value: number | null): string {
  return value === null ? '–' : `${value.toLocaleString('en-US', { maximumFractionDigits: 1 })} %`
}

function scope({ detail }: EventRow): string {
  const parts = [detail.tag && `tag ${detail.tag}`, detail.list === 'chart' && 'charts'].filter(Boolean)
  return parts.length === 0 ? '' : ` (${parts.join(', ')})`
}

function since(event: EventRow): string {
  const { comparedSlot } = event
  return comparedSlot === null ? '' : `, compared with ${dayOf(event, comparedSlot)}`
}

/** The day of an instant: of slots in UTC, and where the event is of a day or of a budget of the project, in its time zone. */
export function dayOf(
  { kind, detail, timezone }: Pick<EventRow, 'kind' | 'detail' | 'timezone'>,
  at: Date,
): string {
  const isOfProject = OF_DAY.includes(kind) || String(detail.budget ?? '').endsWith(' of the project')
  return at.toLocaleDateString('sv-SE', { timeZone: isOfProject ? timezone : 'UTC' })
}
