/** What a report is about, and how rows of the database become parts of it. */
import { type Statement, sql } from '../db/sql.ts'

/** A day in the time zone of the project: `2026-03-01`. */
export type Day = string

/** One value for each of `Report.days`. */
export type Daily<Value> = readonly Value[]

/** Days back from the last one, to the day that it is compared with. */
export type Span = number
export const SPANS: readonly Span[] = [1, 7, 30]

/** Of which places it is worth a sentence that an app came or went. */
export const TOP = 10

/** What is asked for. */
export interface Request {
  readonly project: string
  readonly timezone: string
  readonly days: readonly Day[]
  readonly from: Day
  readonly to: Day
  /** Only what has this tag; null: all of the project's. */
  readonly tag: string | null
  /** Only what is of this location, by its name; null: all of the project's. */
  readonly location: string | null
}

/** What every part is read by. */
export interface Scope extends Request {
  /** Indexes of `Report.apps` by the dictionary's ids, in their order. */
  readonly appOf: ReadonlyMap<number, number>
  /** Indexes of `Report.lists` by their targets. */
  readonly listOf: ReadonlyMap<number, number>
}

const DAY_MS = 86_400_000

export function addDays(day: Day, days: number): Day {
  return new Date(Date.parse(day) + days * DAY_MS).toISOString().slice(0, 10)
}

/** The arguments of a function of a range, from `from` to `to`; others follow by their names. */
export function range(
  { project, tag, location, ...days }: Omit<Request, 'days'>,
  from = days.from,
): Statement {
  return sql`${project}, ${from}::date, ${days.to}::date, in_tag => ${tag}, in_location => ${location}`
}

/** Whether an instant is on a day of the report. */
export function isWithin(instant: string, { from, to, timezone }: Request): Statement {
  const at = sql.identifier(instant)
  return sql`(${at} >= ${from}::date::timestamp at time zone ${timezone}
    and ${at} < (${to}::date + 1)::timestamp at time zone ${timezone})`
}

/** Of a row with a store and a location: the code of the country, or the name of what is smaller. */
export function placeOf(row: string): Statement {
  const of = (column: string) => sql.identifier(`${row}.${column}`)
  return sql`coalesce((
    select p.country_iso_code from location p
    where p.store = ${of('store')} and p.code = ${of('location_code')} and p.type = 'Country'
  ), ${of('location')})`
}

/** As the database has it: of a target, and of an app by its number. */
export type Row<Known> = Omit<Known, 'list' | 'app'> & {
  readonly targetId?: number
  readonly id?: number | null
}

/** Lists and apps by their indexes in the report; what is of others is left out. */
export function locate<Known>({ listOf, appOf }: Scope, rows: readonly Row<Known>[]): Known[] {
  return rows.flatMap(({ targetId, id, ...row }) => {
    const list = targetId === undefined ? undefined : listOf.get(targetId)
    const app = id == null ? id : appOf.get(id)
    const isKnown = (targetId === undefined || list !== undefined) && (id == null || app !== undefined)
    return isKnown
      ? [{ ...row, ...(list !== undefined && { list }), ...(app !== undefined && { app }) } as Known]
      : []
  })
}
