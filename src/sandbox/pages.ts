/** The raw pages of the android_store, as a browser without scripts gets them (spec: Html result). */

import type { App } from './catalogue.ts'
import { appUrl, type showInfoItem, type View } from './listing.ts'
import type { listReviews } from './reviews.ts'

/** Apps on one page of a search or a chart: the next ones come when the reader scrolls. */
const APPS_PER_PAGE = 30

/** Reviews on one page. */
const REVIEWS_PER_PAGE = 150

/** Escapes a text for the content or an attribute of an element. */
export const escapeHtml = (text: string): string =>
  text.replace(/[&<>"']/g, (sign) => `&${{ '&': 'amp', '<': 'lt', '>': 'gt', '"': 'quot' }[sign] ?? '#39'};`)

const writePage = (title: string, view: View, lines: readonly string[]): string =>
  [
    `<!doctype html><html lang="${escapeHtml(view.languageCode)}"><head><meta charset="utf-8">`,
    `<title>${escapeHtml(title)} – Apps</title></head><body><h1>${escapeHtml(title)}</h1>`,
    ...lines,
    '</body></html>',
  ].join('\n')

/** At least one page where there is a line. */
const writePages = (title: string, view: View, lines: readonly string[], perPage: number): string[] =>
  Array.from({ length: Math.ceil(lines.length / perPage) }, (_, page) =>
    writePage(title, view, lines.slice(page * perPage, (page + 1) * perPage)),
  )

/** The pages of a search or a chart under a heading. */
export const writeListPages = (heading: string, apps: readonly App[], view: View): string[] => {
  const cards = apps.map((app) => {
    const url = escapeHtml(appUrl('android_store', app, view))
    return `<a href="${url}">${escapeHtml(app.title)}</a> <span>${escapeHtml(app.developer)}</span>`
  })
  return writePages(heading, view, cards, APPS_PER_PAGE)
}

/** The pages of an app's reviews. */
export const writeReviewsPages = (
  app: App,
  reviews: ReturnType<typeof listReviews>,
  view: View,
): string[] => {
  const texts = reviews.map(
    ({ id, rating, timestamp, review_text }) =>
      `<article id="${escapeHtml(id)}">${rating.value} ${timestamp} ${escapeHtml(review_text)}</article>`,
  )
  return writePages(app.title, view, texts, REVIEWS_PER_PAGE)
}

/** The page of an app. */
export const writeInfoPage = (item: ReturnType<typeof showInfoItem>, view: View): string => {
  const { developer, price, version, last_update_date, main_category, description } = item
  const facts = [developer, price.displayed_price, version, last_update_date, main_category, description]
  return writePage(item.title, view, [
    ...facts.map((fact) => `<p>${escapeHtml(fact ?? 'Varies with device')}</p>`),
    ...item.images.map((url) => `<img src="${escapeHtml(url)}" alt="Screenshot">`),
  ])
}
