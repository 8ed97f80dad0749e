/**
 * A chart in the page: drawn wide and narrow, with a legend, and with its numbers as a table, from which the
 * script reads them too.
 */
import type { Store } from '../../service/functions.ts'
import { formatDay, shortDay } from '../../text/days.js'
import { formatCount } from '../../text/words.ts'
import type { Daily, Day, Report } from '../model.ts'
import { drawLines, drawStack } from './chart.js'
import type { Frame, Mark, ValueLine } from './drawing.ts'
import { numberMarks } from './marks.js'
import { html, type Markup, NOTHING, pen } from './markup.ts'

/** The style shows one of them, by the width of the page. */
const SIZES = [
  { className: 'wide', width: 960, height: 236 },
  { className: 'narrow', width: 360, height: 220 },
] as const
/** More of them scroll. */
const MARKS_SHOWN = 12

export interface FigureLine extends ValueLine {
  readonly name: string
  /** As the table has them; null is `–`. */
  readonly texts: Daily<string | null>
}

export interface Figure {
  readonly id: string
  readonly title: string
  /** One sentence below the title. */
  readonly note: string | Markup
  readonly kind: 'lines' | 'stack'
  readonly days: readonly Day[]
  readonly lines: readonly FigureLine[]
  /** Columns of the table that are not drawn. */
  readonly columns?: readonly FigureLine[]
  readonly unit?: string
  readonly marks?: readonly Mark[]
  readonly bands?: Daily<string | null>
  /** Where the axis of lines begins, or the least that the axis of a stack shows. */
  readonly bound?: number
}

export function showFigure(figure: Figure): Markup {
  const { id, title, note, lines } = figure
  return html`<figure class="figure" id="${id}">
<figcaption><h3>${title}</h3><p>${note}</p></figcaption>
${showLegend(lines, figure.kind)}
<div class="plot" data-label="${title}">${SIZES.map((size) => draw(figure, size))}</div>
${showMarks(figure)}
${showNumbers(figure)}
</figure>`
}

function draw(figure: Figure, { className, ...size }: (typeof SIZES)[number]): Markup {
  const { title, days, lines, unit = '', marks = [], bands = [], bound = 0 } = figure
  const range = `${formatDay(days[0] ?? '')} to ${formatDay(days.at(-1) ?? '')}`
  const label = `${title}, ${range}: ${lines.map(({ name }) => name).join(', ')}`
  const frame: Frame = { label, days, unit, marks, bands, ...size }
  const drawn =
    figure.kind === 'lines' ? drawLines(pen, frame, lines, bound) : drawStack(pen, frame, lines, bound)
  return html`<div class="${className}">${drawn}</div>`
}

export function showLegend(
  lines: readonly Pick<FigureLine, 'name' | 'className'>[],
  kind: Figure['kind'] = 'lines',
): Markup {
  const entries = lines.map(({ name, className }) => html`<li>${showSwatch(className, kind)}${name}</li>`)
  return html`<ul class="legend">${entries}</ul>`
}

export function showSwatch(className: string, kind: Figure['kind'] = 'lines'): Markup {
  const shape =
    kind === 'lines'
      ? html`<path class="line ${className}" d="M1,6H23"/>`
      : html`<rect class="bar ${className}" x="5" width="14" height="12" rx="2"/>`
  return html`<svg class="swatch" viewBox="0 0 24 12" aria-hidden="true">${shape}</svg>`
}

/** What the numbers above the days mean. */
function showMarks({ title, days, marks = [] }: Figure): Markup {
  const numbered = numberMarks(marks)
  if (numbered.length === 0) return NOTHING
  const entries = numbered.map(
    ({ number, day, className, texts }) =>
      html`<li><b class="number ${className}"><i>${number}</i></b>
<span><time datetime="${days[day]}">${shortDay(days[day] ?? '')}</time> ${texts.join('; ')}</span></li>`,
  )
  const list = html`<ul class="marks">${entries}</ul>`
  if (numbered.length <= MARKS_SHOWN) return list
  return html`<div class="scroll few" tabindex="0" role="region" aria-label="Releases and notes: ${title}">
${list}</div>`
}

function showNumbers({ title, days, lines, columns = [], kind, marks = [] }: Figure): Markup {
  const all = [...lines, ...columns]
  const shape = kind === 'lines' ? 'line' : 'bar'
  const heads = all.map(({ name, className }) => {
    const drawn = className === '' ? '' : `${shape} ${className}`
    return html`<th scope="col" data-class="${drawn}">${name}</th>`
  })
  const rows = days.map((day, n) => {
    const cells = all.map(({ texts }) => html`<td>${texts[n] ?? '–'}</td>`)
    const notes = marks.filter((mark) => mark.day === n).map(({ text }) => html` <em>${text}</em>`)
    return html`<tr><th scope="row">${formatDay(day)}${notes}</th>${cells}</tr>`
  })
  return html`<details class="numbers"><summary>Numbers</summary>
<div class="scroll" tabindex="0" role="region" aria-label="Numbers: ${title}"><table>
<thead><tr><th scope="col">Day</th>${heads}</tr></thead><tbody>${rows}</tbody></table></div></details>`
}

/** Own apps and rivals each have colours of their own, in the order of the report. */
export function classOfApp(report: Report, index: number): string {
  const { role } = report.apps[index] ?? { role: 'competitor' }
  const nth = report.apps.slice(0, index).filter((app) => app.role === role).length
  return role === 'own' ? `own${nth % 3}` : `rival${nth % 6}`
}

/**
 * Releases of apps, which show as changes of their version, and the project's own notes, by day: those about
 * an app of the store.
 */
export function collectMarks(report: Report, store?: Store): Mark[] {
  const releases = report.changes
    .filter(({ field }) => field === 'version')
    .map(({ day, app, after }) => ({
      day,
      text: `${shorten(report.apps[app]?.name ?? '')} ${after ?? ''}`,
      className: classOfApp(report, app),
      app,
    }))
  const notes = report.annotations.map(({ day, text, app }) => ({ day, text, className: 'note', app }))
  const isShown = (app: number | null) =>
    app === null || store === undefined || report.apps[app]?.store === store
  return [...releases, ...notes]
    .filter(({ app }) => isShown(app))
    .map((mark) => ({ ...mark, day: report.days.indexOf(mark.day) }))
    .filter(({ day }) => day >= 0)
    .toSorted((a, b) => a.day - b.day)
}

/** What stands before the first punctuation: `Ashlune: Yoga for Everyone` is `Ashlune`. */
function shorten(name: string): string {
  return name.split(/\s*[:–—|(]|\s-\s/)[0] || name
}

/** The first of the rows, and the others to be opened. */
export function showMore(
  rows: readonly Markup[],
  shown: number,
  list: (rows: readonly Markup[]) => Markup,
): Markup {
  const [first, rest] = [rows.slice(0, shown), rows.slice(shown)]
  if (rest.length === 0) return list(first)
  return html`${list(first)}<details class="rest"><summary>${formatCount(rest.length)} more</summary>
${list(rest)}</details>`
}

export function showNothing(text: string): Markup {
  return text === '' ? NOTHING : html`<p class="nothing">${text}</p>`
}
