/** Instants as people read them, always in UTC. */

/** `2026-01-31 04:05 UTC` */
export function formatMinute(instant: Date): string {
  return `${instant.toISOString().slice(0, 16).replace('T', ' ')} UTC`
}

/** To the second, in a form that Postgres reads too: `2026-01-31 04:05:06Z`. */
export function formatInstant(instant: Date): string {
  return `${instant.toISOString().slice(0, 19).replace('T', ' ')}Z`
}
