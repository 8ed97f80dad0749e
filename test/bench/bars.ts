/** Figures of a bench beside the bars that they are held against. */
import { table } from 'table'

export interface Bar {
  readonly what: string
  readonly value: number
  readonly unit: string
  readonly atMost?: number
  readonly atLeast?: number
}

/** Prints a table. The process ends with 1 when a figure falls short of its bar, or is none. */
export function printBars(title: string, bars: readonly Bar[]): void {
  const rows = bars.map((bar) => [bar.what, show(bar.value, bar.unit), showBar(bar), isMet(bar) ? '' : '✗'])
  process.stdout.write(table([[title, 'measured', 'bar', ''], ...rows]))
  if (!bars.every(isMet)) process.exitCode = 1
}

function isMet({
  value,
  atMost = Number.POSITIVE_INFINITY,
  atLeast = Number.NEGATIVE_INFINITY,
}: Bar): boolean {
  return !Number.isNaN(value) && value <= atMost && value >= atLeast
}

function showBar({ atMost, atLeast, unit }: Bar): string {
  if (atMost !== undefined) return `≤ ${show(atMost, unit)}`
  return atLeast === undefined ? '' : `≥ ${show(atLeast, unit)}`
}

function show(value: number, unit: string): string {
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2
  const text = value.toLocaleString('en', { maximumFractionDigits: digits })
  return unit === '' ? text : `${text} ${unit}`
}
