/** A chart in the page: drawn wide and narrow, with a legend, and its numbers as a table. */
import type { Store } from '../../service/functions.ts'
import { formatDay } from '../../text/days.js'
import type { Report } from '../read.ts'
import type { Daily } from '../scope.ts'
import { drawLegend, drawMarkTexts, drawNumbers, scrolling } from './captions.js'
import { drawLines, drawStack } from './chart.js'
import type { Frame, Mark, ValueLine } from './drawing.ts'
import { html, type Markup, NOTHING, toMarkup } from './markup.ts'

/** The style shows one of them, by the width of the page. */
const SIZES = [
  { className: 'wide', width: 960, height: 236 },
  { className: 'narrow', width: 360, height: 220 },
] as const
/** More of them scroll. */
const MARKS_SHOWN = 12

export interface FigureLine extends ValueLine {
  readonly name: string
  /** As the table has them. */
  readonly texts: Daily<string>
}

/** `label` and size are those of its drawings. */
export interface Figure extends Omit<Frame, 'label' | 'width' | 'height'> {
  readonly id: string
  readonly title: string
  /** One sentence below the title. */
  readonly note: string
  readonly kind: 'lines' | 'stack'
  readonly lines: readonly FigureLine[]
  /** Columns of the table that are not drawn. */
  readonly columns?: readonly FigureLine[]
  /** Where the axis of lines begins, or the least that the axis of a stack shows. */
  readonly bound?: number
}

export function showFigure(figure: Figure): Markup {
  const { id, title, note, kind, lines, columns = [], days, marks = [] } = figure
  const classed = lines.map((line) => ({
    ...line,
    className: `${kind === 'lines' ? 'line' : 'bar'} ${line.className}`,
  }))
  const numbers = drawNumbers(title, days.map(formatDay), [...classed, ...columns], marks)
  return html`<figure class="figure" id="${id}">
<figcaption><h3>${title}</h3><p>${note}</p></figcaption>
${toMarkup(drawLegend(classed))}
<div class="plot" data-label="${title}">${SIZES.map((size) => draw(figure, size))}</div>
${showMarks(figure)}
${toMarkup(numbers)}
</figure>`
}

function draw(figure: Figure, { className, ...size }: (typeof SIZES)[number]): Markup {
  const { title, kind, days, lines, bound } = figure
  const range = `${formatDay(days[0] ?? '')} to ${formatDay(days.at(-1) ?? '')}`
  const label = `${title}, ${range}: ${lines.map(({ name }) => name).join(', ')}`
  const drawn = (kind === 'lines' ? drawLines : drawStack)({ ...figure, ...size, label }, lines, bound)
  return html`<div class="${className}">${toMarkup(drawn)}</div>`
}

/** What the numbers above the days mean. */
function showMarks({ title, days, marks = [] }: Figure): Markup {
  if (marks.length === 0) return NOTHING
  const list = drawMarkTexts(marks, days)
  if (list.children.length <= MARKS_SHOWN) return toMarkup(list)
  return toMarkup(scrolling(`Releases and notes: ${title}`, list, 'scroll few'))
}

/** Own apps and rivals each have colours of their own, in the order of the report. */
export function classOfApp(report: Report, index: number): string {
  const { role } = report.apps[index] ?? { role: 'competitor' }
  const nth = report.apps.slice(0, index).filter((app) => app.role === role).length
  return role === 'own' ? `own${nth % 3}` : `rival${nth % 6}`
}

/** Releases (changes of a version) and notes, by day; of a store, those about its apps and about none. */
export function collectMarks(report: Report, store?: Store): Mark[] {
  const releases = report.changes
    .filter(({ field }) => field === 'version')
    .map(({ day, app, after }) => ({
      ...{ day, app, className: classOfApp(report, app) },
      text: `${shorten(report.apps[app]?.name ?? '')} ${after ?? ''}`,
    }))
  const notes = report.annotations.map((note) => ({ ...note, className: 'note' }))
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
