/** What a bench is, and its figures beside the bars that they are held against. */
import type { Database } from '../../src/db/database.ts'

export interface Figure {
  readonly unit: string
  readonly atMost?: number
  readonly atLeast?: number
}

/** By the names of figures. */
export type Measured = Readonly<Record<string, number>>

export interface Bench {
  /** What it measures. */
  readonly what: string
  /** What its size counts. */
  readonly of: string
  /** At this size the bars hold. */
  readonly size: number
  readonly figures: Readonly<Record<string, Figure>>
  /** @param db one of its own, up to date and empty */
  measure(db: Database, size: number): Promise<Measured>
}

export const plain = (unit = ''): Figure => ({ unit })
export const atMost = (bar: number, unit = ''): Figure => ({ unit, atMost: bar })
export const atLeast = (bar: number, unit = ''): Figure => ({ unit, atLeast: bar })

/** A figure that was not measured misses its bar. */
export function isMet(
  value: number,
  { atMost = Number.POSITIVE_INFINITY, atLeast = Number.NEGATIVE_INFINITY }: Figure,
): boolean {
  return value <= atMost && value >= atLeast
}

export function showBar({ unit, atMost, atLeast }: Figure): string {
  if (atMost !== undefined) return `≤ ${show(atMost, unit)}`
  return atLeast === undefined ? '' : `≥ ${show(atLeast, unit)}`
}

export function show(value: number, unit: string): string {
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2
  const text = value.toLocaleString('en', { maximumFractionDigits: digits })
  return unit === '' ? text : `${text} ${unit}`
}

/** The one in the middle. */
export function medianOf(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN
}
