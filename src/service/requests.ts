/** What is asked of the service, checked before it is sent: a request that breaks a rule costs nothing. */
import { z } from 'zod'
import { ConfigurationError } from '../errors.ts'
import { formatTimestamp, toWireName } from './fields.ts'

const DAY_MS = 86_400_000
/** The clocks of the service and of this machine may differ by this much; in between, the service decides. */
const CLOCK_SKEW_MS = 60 * 60_000

const OFFSET_RULE = 'must be a whole number of at least 0'

/** Rows of a page to skip. */
export const rowOffset = z.int(OFFSET_RULE).min(0, OFFSET_RULE).optional()

/** Such as rows of a page, or the depth of a task. */
export function wholeUpTo(maximum: number) {
  const rule = `must be a whole number from 1 to ${maximum}`
  return z.int(rule).min(1, rule).max(maximum, rule).optional()
}

export function textThat(rule: string, isFit: (text: string) => boolean) {
  return z.string(rule).refine(isFit, rule)
}

/** A timestamp of a request; one that is no time at all is left to the rules of its range. */
export function formatInstant(instant: Date): string {
  return Number.isNaN(instant.getTime()) ? String(instant) : formatTimestamp(instant)
}

/** To the second: fractions are cut off. `to` is not before `from`. */
export interface Range {
  readonly from?: Date | undefined
  readonly to?: Date | undefined
}

/**
 * A refinement of a request for a range: within `days` of the service's present.
 * @param allowed these days, for the message
 */
export function refuseRange({ from, to }: Range, nowMs: number, days: number, allowed: string) {
  const oldestMs = nowMs - days * DAY_MS - CLOCK_SKEW_MS
  const isOutside = (instant: Date | undefined) =>
    instant !== undefined && !(instant.getTime() >= oldestMs && instant.getTime() <= nowMs + CLOCK_SKEW_MS)
  return (_: unknown, context: z.core.$RefinementCtx) => {
    const refuse = (field: string, message: string) =>
      context.addIssue({ code: 'custom', path: [field], message })
    if (isOutside(from)) refuse('datetimeFrom', `must be within ${allowed}`)
    if (isOutside(to)) refuse('datetimeTo', `must be within ${allowed}`)
    if (from && to && from > to) refuse('datetimeTo', 'must not be before datetime_from')
  }
}

type Request = Readonly<Record<string, unknown>>

/** The first rule that a request breaks, as `field rule; it is value`; null when it breaks none. */
export function describeProblem(schema: z.ZodType, request: Request): string | null {
  const issue = schema.safeParse(request).error?.issues[0]
  if (issue === undefined) return null
  const field = String(issue.path[0] ?? 'the request')
  const value = request[field]
  const shown = value === undefined ? 'is missing' : `is ${showValue(value)}`
  return `${toWireName(field)} ${issue.message}; it ${shown}`
}

/** A caller in JavaScript may give what JSON cannot say. */
function showValue(value: unknown): string {
  const text = ['bigint', 'function', 'symbol'].includes(typeof value) ? String(value) : JSON.stringify(value)
  return text.slice(0, 80)
}

/**
 * @param what method and path
 * @throws ConfigurationError with the field, its rule and its value
 */
export function checkRequest(schema: z.ZodType, request: Request, what: string): void {
  const problem = describeProblem(schema, request)
  if (problem !== null) throw new ConfigurationError(`${what} was not sent: ${problem}.`)
}
