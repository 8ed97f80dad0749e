/** Markup that escapes whatever is put into it, and the pen that draws charts with it. */
import { nice, ticks } from 'd3-array'
import { line } from 'd3-shape'
import { raw, html as template } from 'hono/html'
import type { HtmlEscapedString } from 'hono/utils/html'
import type { Attributes, Pen } from './drawing.ts'

export type Markup = HtmlEscapedString

/** A template whose values are escaped, unless they are markup themselves. */
export function html(strings: TemplateStringsArray, ...values: unknown[]): Markup {
  // It is a promise only where a value is one.
  return template(strings, ...values) as Markup
}

export { raw }

export const NOTHING: Markup = raw('')

export const pen: Pen<Markup> = {
  line,
  ticks,
  nice,
  element(tag: string, attributes: Attributes, children: readonly (Markup | string)[] = []): Markup {
    const pairs = Object.entries(attributes).map(([name, value]) => html` ${raw(name)}="${value}"`)
    return html`<${raw(tag)}${pairs}>${children}</${raw(tag)}>`
  },
}
