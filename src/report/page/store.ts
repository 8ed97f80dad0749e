/** What the stores show of the apps: their ratings and reviews. */
import { formatDay } from '../../text/days.js'
import { formatCount } from '../../text/words.ts'
import type { Report } from '../read.ts'
import type { Ratings, Review } from '../read-store.ts'
import type { Daily } from '../scope.ts'
import { nameApp } from '../summary.ts'
import { classOfApp, collectMarks, type Figure, showFigure } from './figure.ts'
import { html, type Markup, NOTHING, showNothing, showTable } from './markup.ts'

export function showRatings(report: Report): Markup {
  const { ratings } = report
  const content =
    ratings.length === 0
      ? showNothing('No page of an app is followed: set info = true in app_watch.')
      : html`${showFigure(ratingFigure(report))}${showCounts(report)}`
  return html`${content}${showLowReviews(report)}`
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
      texts: rating.map((value) => value?.toFixed(2) ?? '–'),
    })),
  }
}

function showCounts(report: Report): Markup {
  const rows = report.ratings.map((one) => [
    html`${nameApp(report, one.app)}<small>${one.place}</small>`,
    ...listGrowth(one.votes),
    ...listGrowth(hasReviews(one) ? one.reviews : []),
    ...listStars(report, one),
  ])
  const stars = STARS.map((count) => `${count} ★`)
  const heads = ['App', 'Ratings', 'New ratings', 'Reviews', 'New reviews', ...stars]
  return html`<p class="lead">Stars: reviews written in these days.</p>
${showTable('Ratings and reviews by app', '', heads, rows)}`
}

/** Where a store gives one number for both it is that of the ratings. */
function hasReviews({ votes, reviews }: Ratings): boolean {
  return reviews.some((count, day) => count !== votes[day])
}

function listGrowth(counts: Daily<number | null>): string[] {
  const known = counts.filter((count) => count !== null)
  const first = known[0]
  const last = known.at(-1)
  if (first === undefined || last === undefined) return ['–', '–']
  return [formatCount(last), `${last < first ? '−' : '+'}${formatCount(Math.abs(last - first))}`]
}

const STARS = [1, 2, 3, 4, 5]

function listStars(report: Report, { app }: Ratings): string[] {
  const counted = report.reviewCounts.find((count) => count.app === app)?.stars
  return STARS.map((_, n) => (counted === undefined ? '–' : formatCount(counted[n] ?? 0)))
}

/** By app and version, so that a release that broke something is seen at once. */
function showLowReviews(report: Report): Markup {
  if (report.lowReviews.length === 0) return showNothing('No new review of one or two stars.')
  const groups = Map.groupBy(report.lowReviews, ({ app, version }) => `${app} ${version ?? ''}`)
  const lists = [...groups.values()].map((reviews) => {
    const [{ app, version } = { app: 0, version: null }] = reviews
    const total = reviews.reduce((sum, { times }) => sum + times, 0)
    return html`<h4>${nameApp(report, app)}${version === null ? '' : ` ${version}`}
(${formatCount(total)})</h4><ol class="reviews">${reviews.map(showReview)}</ol>`
  })
  return html`<h3>New reviews of one and two stars</h3>${lists}`
}

function showReview({ day, times, place, stars, title, text, author, response }: Review): Markup {
  const written = times === 1 ? [author, formatDay(day)] : [`${formatCount(times)} times`, formatDay(day)]
  const drawn = '★'.repeat(stars).padEnd(5, '☆')
  return html`<li>
<p><span class="stars" role="img" aria-label="${stars} of 5 stars">${drawn}</span>
<b>${title}</b></p><p>${text}</p>
<p class="note">${[place, ...written].filter(Boolean).join(' · ')}</p>
${response === null ? NOTHING : html`<p class="note">The developer: ${response}</p>`}</li>`
}
