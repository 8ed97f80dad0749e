/** Timestamps as the service writes them: UTC, `yyyy-mm-dd hh:mm:ss +00:00` (spec: Task object). */

import { z } from 'zod'

export const MINUTE_MS = 60_000
/** Every day of the service is a UTC day. */
export const DAY_MS = 86_400_000

/** Formats milliseconds since 1970, cut to whole seconds. */
export const formatTimestamp = (timeMs: number): string => {
  const iso = new Date(timeMs).toISOString()
  return `${iso.slice(0, 10)} ${iso.slice(11, 19)} +00:00`
}

/** A timestamp in a request, read into milliseconds since 1970; one that names no real time is refused. */
export const Timestamp = z.string().transform((text, context) => {
  const timeMs = Date.parse(text.replace(' ', 'T').replace(' +00:00', 'Z'))
  if (Number.isNaN(timeMs) || formatTimestamp(timeMs) !== text) {
    context.addIssue({ code: 'custom', message: 'not a timestamp' })
  }
  return timeMs
})

/** The number of the UTC day, counted from 1970-01-01. */
export const dayOf = (timeMs: number): number => Math.floor(timeMs / DAY_MS)

/** The same moment a number of calendar months earlier (31 March minus one month is the end of February). */
export const monthsBefore = (timeMs: number, months: number): number => {
  const then = new Date(timeMs)
  const day = then.getUTCDate()
  then.setUTCMonth(then.getUTCMonth() - months)
  if (then.getUTCDate() !== day) then.setUTCDate(0)
  return then.getTime()
}
