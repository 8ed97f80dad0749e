/** Figures of a bench beside the bars that they are held against. */
import { appendFileSync, readFileSync } from 'node:fs'
import { drawRows } from '../support/rows.ts'

export interface Bar {
  readonly what: string
  readonly value: number
  readonly unit: string
  readonly atMost?: number
  readonly atLeast?: number
}

/** The bars of one table of a bench. */
export interface Bars {
  readonly title: string
  readonly bars: readonly Bar[]
}

/**
 * Names the file that `noteBars` adds to: how `bench:all` gets the figures of benches that are processes of
 * their own.
 */
export const NOTES_VARIABLE = 'BENCH_NOTES'

/** Prints a table. The process ends with 1 when a figure falls short of its bar, or is none. */
export function printBars(title: string, bars: readonly Bar[]): void {
  const rows = bars.map((bar) => [...showBar(bar), isMet(bar) ? '' : '✗'])
  process.stdout.write(drawRows([title, 'measured', 'bar', ''], rows))
  noteBars({ title, bars })
}

/** What `printBars` does besides printing. */
export function noteBars(noted: Bars): void {
  if (!noted.bars.every(isMet)) process.exitCode = 1
  const file = process.env[NOTES_VARIABLE]
  if (file !== undefined) appendFileSync(file, `${JSON.stringify(noted)}\n`)
}

/** Reads the file of `noteBars`. */
export function readNotes(file: string): Bars[] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))
    .map(({ title, bars }) => ({
      title,
      // JSON has no NaN.
      bars: bars.map((bar: Bar) => ({ ...bar, value: bar.value ?? Number.NaN })),
    }))
}

/** Whether a bar is asked of the figure at all. */
export const isHeld = ({ atMost, atLeast }: Bar): boolean => atMost !== undefined || atLeast !== undefined

export function isMet({
  value,
  atMost = Number.POSITIVE_INFINITY,
  atLeast = Number.NEGATIVE_INFINITY,
}: Bar): boolean {
  return !Number.isNaN(value) && value <= atMost && value >= atLeast
}

/** A figure and its bar as cells of a table. */
export function showBar({
  what,
  value,
  unit,
  atMost,
  atLeast,
}: Bar): [what: string, measured: string, bar: string] {
  const bar =
    atMost !== undefined ? `≤ ${show(atMost, unit)}` : atLeast === undefined ? '' : `≥ ${show(atLeast, unit)}`
  return [what, show(value, unit), bar]
}

function show(value: number, unit: string): string {
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2
  const text = value.toLocaleString('en', { maximumFractionDigits: digits })
  return unit === '' ? text : `${text} ${unit}`
}
