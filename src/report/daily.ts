/** A day in the time zone of the project: `2026-03-01`. */
export type Day = string

/** One value for each of `Report.days`. */
export type Daily<Value> = readonly Value[]
