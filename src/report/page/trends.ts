/** Visibility, share of voice and the distribution of ranks over time. */
import { BANDS, distribute, ownSeries } from '../findings.ts'
import type { Daily, Report, Visibility } from '../model.ts'
import { nameApp } from '../summary.ts'
import { formatCount, formatPercent, STORE_NAMES } from '../words.ts'
import { classOfApp, collectMarks, type Figure, type FigureLine, showFigure, showNothing } from './figure.ts'
import { html, type Markup } from './markup.ts'

/** Of a day of which less was measured, visibility says little. */
const POOR_PERCENT = 80

export function showTrends(report: Report): Markup {
  const figures = [...visibilityByStore(report), ...shareOfVoice(report), ...distribution(report)]
  return html`<section id="trends" aria-labelledby="trends-title"><h2 id="trends-title">Over time</h2>${figures.length === 0 ? showNothing('Nothing was ranked.') : figures.map(showFigure)}</section>`
}

function visibilityByStore(report: Report): Figure[] {
  const stores = [...new Set(report.lists.map(({ store }) => store))]
  return stores.flatMap((store) => {
    const shown = report.visibility.filter(({ app }) => report.apps[app]?.store === store)
    const [first] = shown
    if (first === undefined) return []
    const { measuredPercent } = first
    return {
      id: `visibility-${store}`,
      title: stores.length === 1 ? 'Visibility' : `Visibility, ${STORE_NAMES[store]}`,
      note: `100 % is first on every keyword. A place counts 1/rank times what the keyword is worth; measured and not in the top counts 0, not measured does not count. Measured on the last day: ${formatPercent(measuredPercent.at(-1))}; days with less than ${POOR_PERCENT} % are shaded.`,
      kind: 'lines',
      unit: '%',
      days: report.days,
      marks: collectMarks(report, store),
      bands: poorDays(first),
      lines: shown.map(({ app, percent }) => lineOf(nameApp(report, app), classOfApp(report, app), percent)),
      columns: [lineOf('Measured', '', measuredPercent)],
    }
  })
}

function poorDays({ measuredPercent }: Visibility): Daily<string | null> {
  return measuredPercent.map((percent) => (percent !== null && percent < POOR_PERCENT ? 'poor' : null))
}

function lineOf(name: string, className: string, percent: Daily<number | null>): FigureLine {
  return {
    name,
    className,
    values: percent,
    texts: percent.map((value) => (value === null ? null : formatPercent(value))),
  }
}

/** Watched apps alone are drawn: all others hold so much that nothing would be seen. */
function shareOfVoice(report: Report): Figure[] {
  const stores = [...new Set(report.shareOfVoice.map(({ store }) => store))]
  return stores.map((store) => {
    const shares = report.shareOfVoice.filter((share) => share.store === store)
    const watched = shares.filter(({ app }) => app !== null)
    const others = shares.filter(({ app }) => app === null).map(({ percent }) => percent)
    const measured = report.visibility.find(({ app }) => report.apps[app]?.store === store)
    return {
      id: `share-of-voice-${store}`,
      title: stores.length === 1 ? 'Share of voice' : `Share of voice, ${STORE_NAMES[store]}`,
      note: `Of all places of all apps in the same measurements, each counted like visibility. All apps that are not watched hold the rest, ${formatPercent(others[0]?.at(-1))} on the last day. Days of which less than ${POOR_PERCENT} % was measured are shaded.`,
      kind: 'stack',
      unit: '%',
      days: report.days,
      marks: collectMarks(report, store),
      bands: measured === undefined ? [] : poorDays(measured),
      lines: watched.map(({ app, percent }) =>
        lineOf(nameApp(report, app ?? -1), classOfApp(report, app ?? -1), percent),
      ),
      columns: others.map((percent) => lineOf('All others', '', percent)),
    }
  })
}

function distribution(report: Report): Figure[] {
  if (ownSeries(report).length === 0) return []
  const counts = distribute(report)
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
