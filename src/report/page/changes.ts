/** What changed on the pages of the apps, a row a release; and what ranks did beside each event. */
import { diffWords } from 'diff'
import { countOf, formatCount, formatDifference, roundToTenths } from '../../text/words.ts'
import type { Report } from '../read.ts'
import { type Impact, type ListingChange, MOST_ANNOTATIONS } from '../read-store.ts'
import { nameApp } from '../summary.ts'
import { html, type Markup, NOTHING, showDay, showPart, toneOf } from './markup.ts'

const RELEASES_SHOWN = 60
/** Longer texts are folded. */
const SHORT_LETTERS = 120
const LONGEST_LETTERS = 2000
/** Of a text that stays as it is, so many letters are shown beside what changed. */
const CONTEXT_LETTERS = 40
/** What moves ranks and downloads most is first; a field that is not named is before the last ones. */
const FIRST = ['found', 'title', 'subtitle', 'icon', 'images', 'videos', 'price', 'is_free', 'description']
const LAST = ['version', 'update_notes', 'released_at', 'minimum_os_version', 'size']
const WORDS = new Intl.Segmenter(undefined, { granularity: 'word' })

export function showChanges(report: Report): Markup {
  const releases = listReleases(report.changes)
  const more =
    releases.length > RELEASES_SHOWN
      ? html`<p class="more">The latest ${RELEASES_SHOWN} of ${formatCount(releases.length)}. All of them:
<code>select * from app_changes('${report.project}', '${report.days[0]}', '${report.days.at(-1)}')</code></p>`
      : NOTHING
  return html`${showNotes(report)}${showPart({
    title: 'Pages of the apps',
    className: 'changes',
    heads: ['Day', { text: 'App' }, { text: 'What changed' }],
    rows: releases.slice(0, RELEASES_SHOWN).map((changes) => showRelease(report, changes)),
    none: 'No page of an app has changed, or none is followed.',
  })}${more}${showImpacts(report)}`
}

function showNotes(report: Report): Markup {
  const rows = report.annotations
    .toSorted((a, b) => b.day.localeCompare(a.day))
    .map(({ day, app, text }) => [
      showDay(day),
      html`${text}${app === null ? NOTHING : html`<small>${nameApp(report, app)}</small>`}`,
    ])
  const cut = html`<p>The latest ${formatCount(MOST_ANNOTATIONS)} are shown; all are in the table
<code>annotation</code>.</p>`
  return html`${showPart({ title: 'Notes of the project', heads: ['Day', { text: 'Note' }], rows })}
${rows.length < MOST_ANNOTATIONS ? NOTHING : cut}`
}

/** What changed on one day on one page, what weighs most first; the latest day first, then by weight. */
function listReleases(changes: readonly ListingChange[]): (readonly [ListingChange, ...ListingChange[]])[] {
  const shown = changes.filter(({ field }) => field !== 'updated_at')
  return [...Map.groupBy(shown, ({ day, app, place }) => `${day} ${app} ${place}`).values()]
    .map((release) => release.toSorted((a, b) => placeOf(a) - placeOf(b)))
    .flatMap(([first, ...others]) => (first === undefined ? [] : [[first, ...others] as const]))
    .toSorted(([a], [b]) => b.day.localeCompare(a.day) || placeOf(a) - placeOf(b) || a.app - b.app)
}

function placeOf({ field }: ListingChange): number {
  if (FIRST.includes(field)) return FIRST.indexOf(field)
  return FIRST.length + 1 + LAST.indexOf(field)
}

function showRelease(report: Report, release: readonly [ListingChange, ...ListingChange[]]) {
  const [{ day, app, place }] = release
  const fields = release.map(
    (change) => html`<dt>${change.field.replaceAll('_', ' ')}</dt><dd>${showChange(change)}</dd>`,
  )
  return [
    showDay(day),
    html`${nameApp(report, app)}<small>${place}</small>`,
    { shown: html`<dl>${fields}</dl>`, as: 'what' },
  ]
}

function showChange({ field, before, after }: ListingChange): Markup {
  const [old, now] = [parseList(before), parseList(after)]
  if (old !== null && now !== null) return showLists(old, now)
  if (field === 'icon') return html`another one`
  if (field === 'update_notes') return fold(after ?? '', html`${cut(after ?? '', LONGEST_LETTERS)}`)
  if (!isText(before) || !isText(after)) return html`${showValue(before)} → ${showValue(after)}`
  const marked = markWords(before, after)
  return before.length + after.length <= 2 * SHORT_LETTERS ? marked : fold(tellWords(before, after), marked)
}

/** Words, and not a number, a version or a time. */
function isText(value: string | null): value is string {
  return value !== null && /\p{L}{2}/u.test(value) && !/^(true|false|\d{4}-\d\d-\d\d.*)$/.test(value)
}

function showValue(value: string | null): Markup {
  return value === null || value === '' ? html`<span class="nothing">nothing</span>` : html`${value}`
}

function showLists(old: readonly string[], now: readonly string[]): Markup {
  const without = (some: readonly string[], others: readonly string[]) =>
    some.filter((one) => !others.includes(one))
  const [gone, come] = [without(old, now), without(now, old)]
  const isAddress = [...gone, ...come].every((one) => URL.canParse(one))
  const name = (some: readonly string[]) => (isAddress ? formatCount(some.length) : some.join(', '))
  const parts = [
    come.length === 0 ? NOTHING : html` <ins>+ ${name(come)}</ins>`,
    gone.length === 0 ? NOTHING : html` <del>− ${name(gone)}</del>`,
  ]
  return html`${formatCount(now.length)}${gone.length + come.length === 0 ? ', in another order' : parts}`
}

/** A list comes as JSON. */
function parseList(value: string | null): string[] | null {
  if (value === null || !value.startsWith('[')) return null
  try {
    const list: unknown = JSON.parse(value)
    return Array.isArray(list) ? list.map(String) : null
  } catch {
    return null
  }
}

const compareWords = (before: string, after: string) =>
  diffWords(before, after, { intlSegmenter: WORDS, maxEditLength: LONGEST_LETTERS })

function tellWords(before: string, after: string): string {
  const parts = compareWords(before, after)
  const count = (which: 'added' | 'removed') =>
    parts?.reduce((sum, part) => sum + (part[which] ? countWords(part.value) : 0), 0) ?? 0
  return parts === undefined
    ? 'written anew'
    : `${countOf(count('added'), 'word')} added, ${countOf(count('removed'), 'word')} removed`
}

function countWords(text: string): number {
  return [...WORDS.segment(text)].filter(({ isWordLike }) => isWordLike).length
}

/** The new text with the words that came, and those that went, marked; what stays is cut short. */
function markWords(before: string, after: string): Markup {
  const parts = compareWords(before, after) ?? [
    { value: before, removed: true, added: false },
    { value: after, removed: false, added: true },
  ]
  return html`${parts.map(({ value, added, removed }, place) => {
    if (added) return html`<ins>${cut(value, LONGEST_LETTERS)}</ins>`
    if (removed) return html`<del>${cut(value, LONGEST_LETTERS)}</del>`
    return html`${shorten(value, place > 0, place < parts.length - 1)}`
  })}`
}

/** What stands beside a change, on the sides where there is one. */
function shorten(text: string, isAfter: boolean, isBefore: boolean): string {
  const letters = [...text]
  if (letters.length <= 2 * CONTEXT_LETTERS) return text
  const head = isAfter ? letters.slice(0, CONTEXT_LETTERS).join('') : ''
  const tail = isBefore ? letters.slice(-CONTEXT_LETTERS).join('') : ''
  return `${head} … ${tail}`
}

function cut(text: string, length: number): string {
  const letters = [...text]
  return letters.length > length ? `${letters.slice(0, length).join('')} …` : text
}

function fold(summary: string, content: Markup): Markup {
  if ([...summary].length <= SHORT_LETTERS && content.toString() === html`${summary}`.toString())
    return content
  return html`<details><summary>${cut(summary, SHORT_LETTERS)}</summary><p>${content}</p></details>`
}

function showImpacts(report: Report): Markup {
  return showPart({
    title: 'What releases, titles and notes did to ranks',
    lead: `Average rank of the week before and the week from the day on, on keywords that both have measured;
not found counts as the first rank not looked at. Places climbed are +.`,
    heads: [
      ...['Day', { text: 'Event' }, { text: 'Keywords' }, 'Before', 'After', 'Change', 'Competitors'],
      ...['It moved by', 'Everybody by'],
    ],
    rows: report.impacts.map((impact, n) => showImpact(report, impact, report.impacts[n - 1])),
  })
}

/** The event is named once, before its first line. */
function showImpact(report: Report, impact: Impact, previous: Impact | undefined) {
  const { day, app, event, before, after, change, competitors, moved, everybody } = impact
  const isSame = previous?.day === day && previous.app === app && previous.event === event
  const rank = (value: number | null) => (value === null ? '–' : roundToTenths(value).toFixed(1))
  const climb = (value: number | null) => (value === null ? '–' : formatDifference(value))
  return [
    isSame ? NOTHING : showDay(day),
    isSame ? NOTHING : html`${event}<small>${nameApp(report, app)}</small>`,
    describeLists(impact),
    rank(before),
    rank(after),
    { shown: climb(change), as: toneOf(change) },
    climb(competitors),
    rank(moved),
    rank(everybody),
  ]
}

function describeLists({ lists, words, compared }: Impact): string {
  const count = countOf(compared, 'keyword')
  if (lists === 'all') return `all: ${count}`
  if (lists === 'others') return `without these words: ${count}`
  return `with ${lists} ${words.join(', ')}: ${count}`
}
