/**
 * The days of the demo: thirty, and the one before them, so that there is a change over 30 days. No change of
 * summer time is in them.
 */
export const FIRST_DAY = '2026-08-31'
export const MONTH_DAYS = 31
