/** A course of values in one line of a terminal. */
import type { Daily } from './model.ts'

const BARS = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'] as const

/**
 * The last `width` values, from the lowest to the highest of them; a blank where there is none. A level
 * course is in the middle.
 */
export function drawSparkline(values: Daily<number | null>, width: number): string {
  const shown = values.slice(-width)
  const known = shown.filter((value) => value !== null)
  const lowest = Math.min(...known)
  const span = Math.max(...known) - lowest
  const bar = (value: number) =>
    span === 0 ? BARS[BARS.length / 2] : BARS[Math.round(((value - lowest) / span) * (BARS.length - 1))]
  return shown.map((value) => (value === null ? ' ' : bar(value))).join('')
}
