/** Visibility, share of voice and ranks over time; own apps by country and tag, and in both stores. */
import { formatCount, formatDifference, formatPercent, STORE_NAMES } from '../../text/words.ts'
import type { Report } from '../read.ts'
import type { Segment } from '../read-market.ts'
import { BANDS, type Standing } from '../read-ranks.ts'
import type { Daily } from '../scope.ts'
import { nameApp } from '../summary.ts'
import { classOfApp, collectMarks, type Figure, type FigureLine, showFigure } from './figure.ts'
import { html, type Markup, showNothing, showPart, toneOf } from './markup.ts'

const FORMULA =
  '100 % is first on every keyword. Each rank counts 1/rank × weight. Not found counts 0. ' +
  'Keywords not measured that day are left out.'
const POOR_DAYS = 'Days of which less than four fifths were measured are left blank and shaded.'

export function showTrends(report: Report): Markup {
  const stores = [...new Set(report.lists.map(({ store }) => store))]
  const byStore = stores
    .map((store) => report.standings.filter((each) => each.store === store))
    .filter((standings) => standings.some(({ app }) => app !== null))
    .map((standings) => figuresOf(report, standings, stores.length > 1))
  const figures = [
    ...byStore.map(([visibility]) => visibility),
    ...byStore.map(([, voice]) => voice),
    ...distribution(report),
    // One day is no line.
  ].filter(({ kind, days }) => kind === 'stack' || days.length > 1)
  return html`${figures.length === 0 ? showNothing('Nothing was ranked.') : figures.map(showFigure)}
${showSegments(report)}${showProducts(report)}`
}

/** Watched apps alone are drawn: all others hold so much that nothing would be seen. */
function figuresOf(report: Report, standings: readonly Standing[], hasSeveral: boolean): [Figure, Figure] {
  const [first] = standings
  const { store = 'ios_store', measured = [], measuredPercent = [], share = [] } = first ?? {}
  const others = standings.filter(({ app }) => app === null).map((each) => each.share)
  const frame = (name: string) => ({
    id: `${name.toLowerCase().replaceAll(' ', '-')}-${store}`,
    title: hasSeveral ? `${name}, ${STORE_NAMES[store]}` : name,
    unit: '%',
    days: report.days,
    marks: collectMarks(report, store),
    // What was measured, and too little of it.
    bands: measured.map((count, day) => (count > 0 && share[day] === null ? 'poor' : null)),
  })
  const lines = (of: 'visibility' | 'share') =>
    standings.flatMap(({ app, ...standing }) =>
      app === null ? [] : [lineOf(nameApp(report, app), classOfApp(report, app), standing[of])],
    )
  const rest = `Apps you do not track hold the other ${formatPercent(others[0]?.at(-1))} on the last day.`
  return [
    {
      ...frame('Visibility'),
      note: `${FORMULA} Measured on the last day: ${formatPercent(measuredPercent.at(-1))}. ${POOR_DAYS}`,
      kind: 'lines',
      lines: lines('visibility'),
      columns: [lineOf('Measured', '', measuredPercent)],
    },
    {
      ...frame('Share of voice'),
      note: `Each app's part of all positions in these searches. ${rest} ${POOR_DAYS}`,
      kind: 'stack',
      lines: lines('share'),
      columns: others.map((percent) => lineOf('All others', '', percent)),
    },
  ]
}

function lineOf(name: string, className: string, percent: Daily<number | null>): FigureLine {
  return { name, className, values: percent, texts: percent.map(formatPercent) }
}

function distribution(report: Report): Figure[] {
  const counts = report.distribution
  if (counts.length === 0) return []
  const names = [
    ...BANDS.map((last, n) => (last === 1 ? '1st' : `${(BANDS[n - 1] ?? 0) + 1} to ${last}`)),
    'Beyond, or not in the top',
    'Not measured',
  ]
  return [
    {
      id: 'distribution',
      title: 'Where the own apps stand',
      note: 'Keywords and charts by the rank of the own apps on them.',
      kind: 'stack',
      days: report.days,
      marks: collectMarks(report),
      lines: names.map((name, band) => ({
        name,
        className: `band${band}`,
        values: counts[band] ?? [],
        texts: (counts[band] ?? []).map(formatCount),
      })),
    },
  ]
}

function showSegments(report: Report): Markup {
  const heads = ['Keywords', { text: 'App' }, 'Visibility', 'In 7 days', 'Compared on', 'In the top 10']
  return showPart({
    title: 'By country and tag',
    lead: `Average rank: of the keywords on which it ranks. Gained most: the competitor whose visibility rose
most in 30 days, in points.`,
    heads: [...heads, 'Average rank', { text: 'Gained most' }],
    rows: report.segments.map((segment) => showSegment(report, segment)),
  })
}

function showSegment(report: Report, segment: Segment) {
  const { kind, name, app, visibility, inTop, measured, due, change, compared, average, rival } = segment
  return [
    kind === 'tag' ? `#${name}` : name,
    nameApp(report, app),
    formatPercent(visibility),
    { shown: change === null ? '–' : formatDifference(change), as: toneOf(change, 0.05) },
    `${formatCount(compared ?? 0)} of ${formatCount(due)}`,
    inTop === null ? '–' : `${formatCount(inTop)} of ${formatCount(measured)}`,
    average === null ? '–' : average.toFixed(1),
    rival === null ? '–' : html`<bdi>${rival.name}</bdi> ${formatDifference(rival.change)}`,
  ]
}

function showProducts({ products }: Report): Markup {
  const show = (rank: number | null) => (rank === null ? 'not in top' : rank)
  return showPart({
    title: 'In both stores',
    lead: 'Apps of both stores with one label, on the keywords on which these differ most.',
    heads: ['Keyword', { text: 'Product' }, 'iOS', 'Android'],
    rows: products.map(({ product, keyword, place, ios, android }) => [
      html`<bdi>${keyword}</bdi><small>${place}</small>`,
      product,
      show(ios),
      show(android),
    ]),
  })
}
