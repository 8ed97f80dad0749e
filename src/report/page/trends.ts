/** Visibility, share of voice and the distribution of ranks over time. */

import { formatCount, formatPercent, STORE_NAMES } from '../../text/words.ts'
import { BANDS, type Daily, type Report, type Standing } from '../model.ts'
import { nameApp } from '../summary.ts'
import { classOfApp, collectMarks, type Figure, type FigureLine, showFigure } from './figure.ts'
import { html, type Markup, showNothing } from './markup.ts'
import { showProducts, showSegments } from './segments.ts'

const FORMULA =
  '100 % is first on every keyword. Each rank counts 1/rank × weight. Not found counts 0. ' +
  'Keywords not measured that day are left out.'
const POOR_DAYS = 'Days of which less than four fifths were measured are left blank and shaded.'

export function showTrends(report: Report): Markup {
  const stores = [...new Set(report.lists.map(({ store }) => store))]
  const byStore = stores
    .map((store) => report.standings.filter((each) => each.store === store))
    .filter((standings) => standings.some(({ app }) => app !== null))
  const figures = [
    ...byStore.map((standings) => visibilityFigure(report, standings, stores.length > 1)),
    ...byStore.map((standings) => voiceFigure(report, standings, stores.length > 1)),
    ...distribution(report),
    // One day is no line.
  ].filter(({ kind, days }) => kind === 'stack' || days.length > 1)
  return html`${figures.length === 0 ? showNothing('Nothing was ranked.') : figures.map(showFigure)}
${showSegments(report)}${showProducts(report)}`
}

/** What both charts of a store have in common. */
function frameOf(report: Report, standings: readonly Standing[], name: string, hasSeveral: boolean) {
  const { store = 'ios_store' } = standings[0] ?? {}
  return {
    id: `${name.toLowerCase().replaceAll(' ', '-')}-${store}`,
    title: hasSeveral ? `${name}, ${STORE_NAMES[store]}` : name,
    unit: '%',
    days: report.days,
    marks: collectMarks(report, store),
    bands: poorDays(standings),
  } as const
}

/** What was measured, and too little of it. */
function poorDays(standings: readonly Standing[]): Daily<string | null> {
  const [first] = standings
  return (first?.measured ?? []).map((measured, day) =>
    measured > 0 && first?.share[day] === null ? 'poor' : null,
  )
}

function linesOf(report: Report, standings: readonly Standing[], of: 'visibility' | 'share'): FigureLine[] {
  return standings.flatMap(({ app, ...standing }) =>
    app === null ? [] : [lineOf(nameApp(report, app), classOfApp(report, app), standing[of])],
  )
}

function visibilityFigure(report: Report, standings: readonly Standing[], hasSeveral: boolean): Figure {
  const measured = standings[0]?.measuredPercent ?? []
  return {
    ...frameOf(report, standings, 'Visibility', hasSeveral),
    note: `${FORMULA} Measured on the last day: ${formatPercent(measured.at(-1))}. ${POOR_DAYS}`,
    kind: 'lines',
    lines: linesOf(report, standings, 'visibility'),
    columns: [lineOf('Measured', '', measured)],
  }
}

/** Watched apps alone are drawn: all others hold so much that nothing would be seen. */
function voiceFigure(report: Report, standings: readonly Standing[], hasSeveral: boolean): Figure {
  const others = standings.filter(({ app }) => app === null).map(({ share }) => share)
  const rest = `Apps you do not track hold the other ${formatPercent(others[0]?.at(-1))} on the last day.`
  return {
    ...frameOf(report, standings, 'Share of voice', hasSeveral),
    note: `Each app's part of all positions in these searches. ${rest} ${POOR_DAYS}`,
    kind: 'stack',
    lines: linesOf(report, standings, 'share'),
    columns: others.map((percent) => lineOf('All others', '', percent)),
  }
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
