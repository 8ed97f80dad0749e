/** What the stores show of the apps: changes of their pages, old and new, and their ratings and reviews. */

import { formatDay } from '../../text/days.js'
import { formatCount } from '../../text/words.ts'
import { type Daily, type ListingChange, MOST_ANNOTATIONS, type Ratings, type Report } from '../model.ts'
import { nameApp } from '../summary.ts'
import { classOfApp, collectMarks, type Figure, showFigure, showNothing } from './figure.ts'
import { html, type Markup, NOTHING } from './markup.ts'

const CHANGES_SHOWN = 60
/** Longer texts are folded. */
const SHORT_LETTERS = 120
const LONGEST_LETTERS = 2000

export function showChanges(report: Report): Markup {
  const changes = report.changes
    .filter(({ field }) => field !== 'updated_at')
    .toSorted((a, b) => b.day.localeCompare(a.day))
  const rows = changes.slice(0, CHANGES_SHOWN).map((change) => showChange(report, change))
  const more =
    changes.length > CHANGES_SHOWN
      ? html`<p class="more">The latest ${CHANGES_SHOWN} of ${formatCount(changes.length)}. All of them:
<code>select * from app_changes('${report.project}', '${report.days[0]}', '${report.days.at(-1)}')</code></p>`
      : ''
  const table = html`
<div class="scroll" tabindex="0" role="region" aria-label="Changes of pages in the stores">
<table class="changes texts"><thead><tr><th scope="col">Day</th><th scope="col" class="text">App</th>
<th scope="col" class="text">What</th><th scope="col" class="text">Old</th>
<th scope="col" class="text">New</th></tr></thead><tbody>${rows}</tbody></table></div>${more}`
  return html`<section id="changes" aria-labelledby="changes-title">
<h2 id="changes-title">Changes in the stores</h2>
${showNotes(report)}
${rows.length === 0 ? showNothing('No page of an app has changed, or none is followed.') : table}</section>`
}

function showNotes(report: Report): Markup {
  if (report.annotations.length === 0) return NOTHING
  const notes = report.annotations
    .toSorted((a, b) => b.day.localeCompare(a.day))
    .map(({ day, app, text }) => {
      const about = app === null ? NOTHING : html`<small>${nameApp(report, app)}</small>`
      return html`<tr><th scope="row"><time datetime="${day}">${formatDay(day)}</time></th>
<td class="text">${text}${about}</td></tr>`
    })
  return html`<h3>Notes of the project</h3><table class="changes notes"><thead><tr><th scope="col">Day</th>
<th scope="col" class="text">Note</th></tr></thead><tbody>${notes}</tbody></table>
${
  notes.length < MOST_ANNOTATIONS
    ? NOTHING
    : html`<p>The latest ${formatCount(MOST_ANNOTATIONS)} are
shown; all are in the table <code>annotation</code>.</p>`
}<h3>Pages of the apps</h3>
`
}

function showChange(report: Report, change: ListingChange): Markup {
  const { day, app, place, field, before, after } = change
  return html`<tr><th scope="row"><time datetime="${day}">${formatDay(day)}</time></th>
<td class="text">${nameApp(report, app)}<small>${place}</small></td>
<td class="text"><b>${field.replaceAll('_', ' ')}</b></td>
<td class="text old" data-head="old">${showValue(before)}</td>
<td class="text new" data-head="new">${showValue(after)}</td></tr>`
}

function showValue(text: string | null): Markup {
  const value = joinList(text)
  if (value === null || value === '') return html`<span class="nothing">nothing</span>`
  const letters = [...value]
  if (letters.length <= SHORT_LETTERS) return html`${value}`
  const cut = (length: number) => (letters.length > length ? `${letters.slice(0, length).join('')} …` : value)
  return html`<details><summary>${cut(SHORT_LETTERS)}</summary><p>${cut(LONGEST_LETTERS)}</p></details>`
}

/** A list comes as JSON. */
function joinList(value: string | null): string | null {
  if (value === null || !value.startsWith('[')) return value
  try {
    const list: unknown = JSON.parse(value)
    return Array.isArray(list) ? `${list.length}: ${list.map(String).join(', ')}` : value
  } catch {
    return value
  }
}

export function showRatings(report: Report): Markup {
  const { ratings } = report
  const content =
    ratings.length === 0
      ? showNothing('No page of an app is followed: set info = true in app_watch.')
      : html`${showFigure(ratingFigure(report))}${showCounts(report)}`
  return html`<section id="ratings" aria-labelledby="ratings-title">
<h2 id="ratings-title">Ratings and reviews</h2>${content}${showLowReviews(report)}</section>`
}

function ratingFigure(report: Report): Figure {
  const values = report.ratings.flatMap(({ rating }) => rating.filter((value) => value !== null))
  return {
    id: 'rating',
    title: 'Average rating',
    note: 'In stars, as the store shows it. The axis does not begin at 0.',
    kind: 'lines',
    days: report.days,
    marks: collectMarks(report),
    bound: values.length === 0 ? 0 : Math.floor(Math.min(...values) * 2) / 2,
    lines: report.ratings.map(({ app, place, rating }) => ({
      name: `${nameApp(report, app)}, ${place}`,
      className: classOfApp(report, app),
      values: rating,
      texts: rating.map((value) => value?.toFixed(2) ?? null),
    })),
  }
}

function showCounts(report: Report): Markup {
  const rows = report.ratings.map(
    (one) =>
      html`<tr><th scope="row">${nameApp(report, one.app)}<small>${one.place}</small></th>
${showGrowth(one.votes)}${showGrowth(hasReviews(one) ? one.reviews : [])}${showStars(report, one)}</tr>`,
  )
  const stars = [1, 2, 3, 4, 5].map((count) => html`<th scope="col">${count} ★</th>`)
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Ratings and reviews by app">
<table class="counts"><thead>
<tr><th scope="col" rowspan="2">App</th><th scope="col" rowspan="2">Ratings</th>
<th scope="col" rowspan="2">new</th><th scope="col" rowspan="2">Reviews</th>
<th scope="col" rowspan="2">new</th><th scope="colgroup" colspan="5">Reviews written in these days</th></tr>
<tr>${stars}</tr></thead><tbody>${rows}</tbody></table></div>`
}

/** Where a store gives one number for both it is that of the ratings. */
function hasReviews({ votes, reviews }: Ratings): boolean {
  return reviews.some((count, day) => count !== votes[day])
}

function showGrowth(counts: Daily<number | null>): Markup {
  const known = counts.filter((count) => count !== null)
  const first = known[0]
  const last = known.at(-1)
  if (first === undefined || last === undefined) return html`<td>–</td><td>–</td>`
  return html`<td>${formatCount(last)}</td>
<td>${last < first ? '−' : '+'}${formatCount(Math.abs(last - first))}</td>`
}

function showStars(report: Report, { app }: Ratings): Markup[] {
  const counted = report.reviewCounts.find((count) => count.app === app)?.stars
  return Array.from(
    { length: 5 },
    (_, n) => html`<td>${counted === undefined ? '–' : formatCount(counted[n] ?? 0)}</td>`,
  )
}

function showLowReviews(report: Report): Markup {
  if (report.lowReviews.length === 0) return showNothing('No new review of one or two stars.')
  const reviews = report.lowReviews.map(
    ({ day, app, place, stars, title, text, author, version, response }) => html`<li>
<p><span class="stars" role="img" aria-label="${stars} of 5 stars">${'★'.repeat(stars).padEnd(5, '☆')}</span>
<b>${title}</b></p><p>${text}</p>
<p class="note">${[nameApp(report, app), version, place, author, formatDay(day)].filter(Boolean).join(' · ')}
</p>${response === null ? NOTHING : html`<p class="note">The developer: ${response}</p>`}</li>`,
  )
  return html`<h3>New reviews of one and two stars</h3><ol class="reviews">${reviews}</ol>`
}
