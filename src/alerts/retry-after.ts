/** How long a receiver asks to be left alone. Pure. */
import type { IncomingHttpHeaders } from 'node:http'

const SECONDS = /^\d{1,9}$/
/** The one form of a date that HTTP still writes: `Sun, 01 Mar 2026 06:00:00 GMT`. */
const HTTP_DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/

/**
 * @param nowMs by which a date counts where the receiver does not say what its own clock shows
 * @returns null when the header is missing or means nothing
 */
export function readRetryAfterMs(headers: IncomingHttpHeaders, nowMs: number): number | null {
  const text = headers['retry-after']
  if (text !== undefined && SECONDS.test(text)) return Number(text) * 1000
  const untilMs = readDateMs(text)
  return untilMs === null ? null : Math.max(0, untilMs - (readDateMs(headers.date) ?? nowMs))
}

function readDateMs(text: string | undefined): number | null {
  const ms = text !== undefined && HTTP_DATE.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(ms) ? null : ms
}
