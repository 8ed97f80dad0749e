/** What a bench is, and its figures beside the bars that they are held against. */
import type { Database } from '../../src/db/database.ts'

export interface Figure {
  readonly value: number
  readonly unit: string
  readonly most?: number
  readonly least?: number
}

/** By the names of figures. */
export type Measured = Readonly<Record<string, Figure>>

export interface Bench {
  /** What it measures. */
  readonly what: string
  /** What its size counts. */
  readonly of: string
  /** At this size the bars hold. */
  readonly size: number
  /** @param db one of its own, up to date and empty */
  measure(db: Database, size: number): Promise<Measured>
}

export const plain = (value: number, unit = ''): Figure => ({ value, unit })
export const atMost = (most: number, value: number, unit = ''): Figure => ({ value, unit, most })
export const atLeast = (least: number, value: number, unit = ''): Figure => ({ value, unit, least })

/** A figure that was not measured, NaN, misses its bar. */
export function isMet({ value, most, least }: Figure): boolean {
  return (most === undefined || value <= most) && (least === undefined || value >= least)
}

export function showBar({ unit, most, least }: Figure): string {
  if (most !== undefined) return `≤ ${show(most, unit)}`
  return least === undefined ? '' : `≥ ${show(least, unit)}`
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

/** What a result of 100 apps costs, beside reading alone. */
export function describeResult(cost: {
  readonly nodeUs: number
  readonly aloneUs: number
  readonly serverUs: number
  readonly statements: number
  readonly perSecond: number
}): Measured {
  return {
    'CPU of Node a result': plain(cost.nodeUs, 'µs'),
    'CPU of Node for reading alone': plain(cost.aloneUs, 'µs'),
    'CPU of Node against reading alone': atMost(2, cost.nodeUs / cost.aloneUs, '×'),
    'CPU of PostgreSQL a result': atMost(300, cost.serverUs, 'µs'),
    'statements a result': atMost(0.1, cost.statements),
    'results a second': atLeast(1_700, cost.perSecond, '/s'),
  }
}
