/** The raw pages of the android_store, as a browser without scripts would get them (spec: Html result). */

import type { App } from './catalogue.ts'
import { appUrl, describeApp, developerUrl, SE_DOMAINS, type showInfoItem, type View } from './listing.ts'
import type { listReviews } from './reviews.ts'

/** Apps on one page of a search or a chart: the next ones come when the reader scrolls. */
const APPS_PER_PAGE = 30

/** Reviews on one page. */
const REVIEWS_PER_PAGE = 150

const ENTITIES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Escapes a text for the content or an attribute of an element. */
export const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (sign) => ENTITIES[sign] ?? sign)

const wrapPage = (title: string, view: View, body: string): string =>
  [
    `<!doctype html><html lang="${escapeHtml(view.languageCode)}" dir="ltr"><head><meta charset="utf-8">`,
    `<base href="https://${SE_DOMAINS.android_store}/"><meta name="viewport" content="width=device-width">`,
    `<title>${escapeHtml(title)} – Apps</title></head><body>`,
    `<header role="banner"><a href="/store" aria-label="Store home">Apps</a></header>`,
    `<main>${body}</main>`,
    '<footer><a href="/terms">Terms</a> <a href="/privacy">Privacy</a></footer></body></html>',
  ].join('\n')

const showCard = (app: App, view: View, place: number): string => {
  const { icon, rating, price } = describeApp('android_store', app, view)
  return [
    `<div role="listitem" data-docid="${escapeHtml(app.id)}" data-place="${place}">`,
    `<a href="${escapeHtml(appUrl('android_store', app, view))}"><img src="${escapeHtml(icon)}" alt="">`,
    `<span class="title">${escapeHtml(app.title)}</span></a>`,
    '<a class="developer" ' +
      `href="${escapeHtml(developerUrl('android_store', app))}">${escapeHtml(app.developer)}</a>`,
    `<span aria-label="Rated ${rating.value} stars out of five">${rating.value}</span>`,
    `<span class="price">${escapeHtml(price.displayed_price)}</span></div>`,
  ].join('')
}

/** The pages of a search or a chart under a heading. */
export const writeListPages = (heading: string, apps: readonly App[], view: View): string[] =>
  Array.from({ length: Math.ceil(apps.length / APPS_PER_PAGE) }, (_, page) => {
    const start = page * APPS_PER_PAGE
    const cards = apps
      .slice(start, start + APPS_PER_PAGE)
      .map((app, index) => showCard(app, view, start + index + 1))
    return wrapPage(
      heading,
      view,
      `<h1>${escapeHtml(heading)}</h1>\n<div role="list">\n${cards.join('\n')}\n</div>`,
    )
  })

/** The pages of an app's reviews. */
export const writeReviewsPages = (app: App, reviews: ReturnType<typeof listReviews>, view: View): string[] =>
  Array.from({ length: Math.ceil(reviews.length / REVIEWS_PER_PAGE) }, (_, page) => {
    const shown = reviews.slice(page * REVIEWS_PER_PAGE, (page + 1) * REVIEWS_PER_PAGE)
    const texts = shown.map(
      (review) =>
        `<article data-review="${escapeHtml(review.id)}">` +
        `<span aria-label="Rated ${review.rating.value} stars out of five"></span>` +
        `<time>${review.timestamp}</time><p>${escapeHtml(review.review_text)}</p></article>`,
    )
    return wrapPage(app.title, view, `<h1>${escapeHtml(app.title)}</h1>\n${texts.join('\n')}`)
  })

/** The page of an app. */
export const writeInfoPage = (item: ReturnType<typeof showInfoItem>, view: View): string => {
  const facts = {
    Version: item.version,
    'Updated on': item.last_update_date,
    'Released on': item.released_date,
    Size: item.size,
    Category: item.main_category,
  }
  return wrapPage(
    item.title,
    view,
    [
      `<h1 itemprop="name">${escapeHtml(item.title)}</h1>`,
      `<a itemprop="author" href="${escapeHtml(item.developer_url)}">${escapeHtml(item.developer)}</a>`,
      `<img itemprop="image" src="${escapeHtml(item.icon)}" alt="Icon">`,
      `<div itemprop="ratingValue">${item.rating.value}</div><div>${item.rating.votes_count} ratings</div>`,
      `<div itemprop="price">${escapeHtml(item.price.displayed_price)}</div>`,
      `<div itemprop="description">${escapeHtml(item.description).replaceAll('\n', '<br>')}</div>`,
      ...item.images.map((url) => `<img src="${escapeHtml(url)}" alt="Screenshot">`),
      '<dl>',
      ...Object.entries(facts).map(
        ([name, value]) => `<dt>${name}</dt><dd>${escapeHtml(value ?? 'Varies with device')}</dd>`,
      ),
      '</dl>',
    ].join('\n'),
  )
}
