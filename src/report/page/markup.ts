/**
 * Markup that escapes whatever is put into it; and tables, which scroll where they are long: on a phone they
 * stand as blocks, and each cell says its column.
 */
import { raw, html as template } from 'hono/html'
import type { HtmlEscapedString } from 'hono/utils/html'
import { formatDay } from '../../text/days.js'
import { formatCount } from '../../text/words.ts'
import type { Day } from '../scope.ts'
import type { Drawn } from './drawing.ts'

export type Markup = HtmlEscapedString

/** A template whose values are escaped, unless they are markup themselves. */
export function html(strings: TemplateStringsArray, ...values: unknown[]): Markup {
  // It is a promise only where a value is one.
  return template(strings, ...values) as Markup
}

export { raw }

export const NOTHING: Markup = raw('')

export function toMarkup({ tag, attributes, children }: Drawn): Markup {
  const pairs = Object.entries(attributes).map(([name, value]) => html` ${raw(name)}="${value}"`)
  const content = children.map((child) => (typeof child === 'string' ? child : toMarkup(child)))
  return html`<${raw(tag)}${pairs}>${content}</${raw(tag)}>`
}

export function showDay(day: Day): Markup {
  return html`<time datetime="${day}">${formatDay(day)}</time>`
}

export function showNothing(text: string): Markup {
  return text === '' ? NOTHING : html`<p class="nothing">${text}</p>`
}

/** A name; of texts, which begin at the left, within an object. */
type Head = string | { readonly text: string }
type Shown = Markup | string | number
/** With a class beside it, such as `good`. */
type Cell = Shown | { readonly shown: Shown; readonly as: string }

/** @param label for who does not see it; @param rows each begins with what it is about */
export function showTable(
  label: string,
  className: string,
  heads: readonly Head[],
  rows: readonly (readonly Cell[])[],
): Markup {
  const columns = heads.map((head, n) =>
    typeof head === 'string' ? { name: head, kind: '' } : { name: head.text, kind: n === 0 ? '' : 'text' },
  )
  const showRow = ([about, ...cells]: readonly Cell[]) =>
    html`<tr><th scope="row">${about}</th>${cells.map((cell, n) => showCell(cell, columns[n + 1]))}</tr>`
  return html`<div class="scroll" tabindex="0" role="region" aria-label="${label}">
<table class="texts ${className}"><thead><tr>${columns.map(
    ({ name, kind }) => html`<th scope="col" class="${kind}">${name}</th>`,
  )}</tr></thead><tbody>${rows.map(showRow)}</tbody></table></div>`
}

function showCell(cell: Cell, { name, kind } = { name: '', kind: '' }): Markup {
  const { shown, as } = typeof cell === 'object' && 'shown' in cell ? cell : { shown: cell, as: '' }
  return html`<td class="${`${kind} ${as}`.trim()}" data-head="${name}">${shown}</td>`
}

export interface Part {
  readonly title: string
  readonly lead?: Markup | string
  readonly className?: string
  readonly heads: readonly Head[]
  readonly rows: readonly (readonly Cell[])[]
  /** Said where there are no rows; without it the part is left out then. */
  readonly none?: string
}

/** A part of a section: its heading, a paragraph, a table. */
export function showPart({ title, lead, className = '', heads, rows, none }: Part): Markup {
  if (rows.length === 0 && none === undefined) return NOTHING
  return html`<h3>${title}</h3>${lead === undefined ? NOTHING : html`<p class="lead">${lead}</p>`}
${rows.length === 0 ? showNothing(none ?? '') : showTable(title, className, heads, rows)}`
}

/** Whether what moves a number is good; at less than `least` it is neither. */
export function toneOf(change: number | null, least = Number.MIN_VALUE): 'good' | 'bad' | '' {
  if (change === null || Math.abs(change) < least) return ''
  return change > 0 ? 'good' : 'bad'
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
