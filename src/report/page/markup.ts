/** Markup that escapes whatever is put into it. */
import { raw, html as template } from 'hono/html'
import type { HtmlEscapedString } from 'hono/utils/html'
import { formatDay } from '../../text/days.js'
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
