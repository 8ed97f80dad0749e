/** Timestamps as the service writes them: UTC, `yyyy-mm-dd hh:mm:ss +00:00` (spec: Task object). */

import { z } from 'zod'

const FORM = /^(\d{4}-\d{2}-\d{2}) (\d{2}:\d{2}:\d{2}) \+00:00$/

/** A day in milliseconds; every day of the service is a UTC day. */
export const DAY_MS = 86_400_000

/** Formats milliseconds since 1970, cut to whole seconds. */
export const formatTimestamp = (timeMs: number): string => {
  const iso = new Date(timeMs).toISOString()
  return `${iso.slice(0, 10)} ${iso.slice(11, 19)} +00:00`
}

/** Reads a timestamp; undefined when it has another form or names no real time. */
const parseTimestamp = (text: string): number | undefined => {
  const match = FORM.exec(text)
  if (!match) return undefined
  const timeMs = Date.parse(`${match[1]}T${match[2]}Z`)
  return Number.isNaN(timeMs) || formatTimestamp(timeMs) !== text ? undefined : timeMs
}

/** A timestamp in a request, read into milliseconds since 1970. */
export const Timestamp = z.string().transform((text, context) => {
  const timeMs = parseTimestamp(text)
  if (timeMs === undefined) context.addIssue({ code: 'custom', message: 'not a timestamp' })
  return timeMs ?? 0
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
