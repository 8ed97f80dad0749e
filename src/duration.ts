/** Durations as people write them. */

const UNITS_MS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** Milliseconds of a whole number with its unit, such as `500ms`, `90s`, `20m`, `2h`, `1d`; else null. */
export function parseDuration(text: string): number | null {
  const [, digits, unit] = /^(\d{1,9})(ms|s|m|h|d)$/.exec(text) ?? []
  const unitMs = UNITS_MS[unit ?? '']
  return unitMs === undefined ? null : Number(digits) * unitMs
}
