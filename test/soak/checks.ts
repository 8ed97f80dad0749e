/** What a long life may not do, as sentences about what it did. */
import type { Held } from './hook.ts'
import type { DayReport, TableSize } from './measure.ts'

export interface Life {
  readonly days: readonly DayReport[]
  /** After all has become too old, and housekeeping has run. */
  readonly aged: readonly TableSize[]
  /** Where totals and charges differ then. */
  readonly differences: number
  /** Tables as they are after the last day, and freshly written. */
  readonly bloat: readonly { readonly table: string; readonly bytes: number; readonly freshBytes: number }[]
}

const MEMORY_GROWTH = 1.1
/** A runner has so many connections at most, and an embedded driver beside. */
const MORE_CONNECTIONS = 2
const MORE_RESOURCES = 4
const COST_GROWTH = 1.3
const BLOAT = 2
const MIB = 1024 * 1024
/** Below that the pages that every table and index has outweigh its rows. */
const LARGE_BYTES = 8 * MIB
/** Empty when everything in them is too old. */
const TEMPORARY = [
  'task',
  'post',
  'charge',
  'ranking',
  'app_snapshot',
  'page',
  'rejected_result',
  'budget_cut',
  'due_slot',
  'service_failure',
]

/** @returns no sentence when all is well */
export function findExcesses({ days, aged, bloat, differences }: Life): string[] {
  return [
    ...findGrowth(days),
    ...findDearer(days),
    ...(differences > 0
      ? [`The totals differ from the charges in ${differences} places: select * from spend_difference.`]
      : []),
    ...aged
      .filter(({ table, rows }) => TEMPORARY.includes(table) && rows > 0)
      .map(({ table, rows }) => `${table} has ${rows} rows that are older than it keeps.`),
    ...bloat
      .filter(({ bytes, freshBytes }) => bytes > LARGE_BYTES && bytes > freshBytes * BLOAT)
      .map(
        ({ table, bytes, freshBytes }) =>
          `${table} has ${bytes / MIB} MiB, and ${freshBytes / MIB} freshly written.`,
      ),
  ]
}

/** Each runner against its own first whole day. */
function findGrowth(days: readonly DayReport[]): string[] {
  const excesses: string[] = []
  const first = new Map<string, Held>()
  const connections = days[1]?.connections ?? Number.POSITIVE_INFINITY
  for (const report of days.slice(1)) {
    if (report.connections > connections + MORE_CONNECTIONS)
      excesses.push(`Day ${report.day}: ${report.connections} connections, and ${connections} on day 2.`)
    for (const [name, held] of Object.entries(report.runners)) {
      for (const warning of held.warnings) excesses.push(`Day ${report.day}: ${name} was warned: ${warning}`)
      const before = first.get(name)
      if (before === undefined) first.set(name, held)
      else excesses.push(...compareHeld(`Day ${report.day}: ${name}`, before, held))
    }
  }
  return excesses
}

function compareHeld(who: string, before: Held, now: Held): string[] {
  const excesses: string[] = []
  if (now.heapBytes > before.heapBytes * MEMORY_GROWTH)
    excesses.push(
      `${who} holds ${(now.heapBytes / MIB).toFixed(1)} MiB, and held ${(before.heapBytes / MIB).toFixed(1)}.`,
    )
  if (now.listeners > before.listeners)
    excesses.push(`${who} has ${now.listeners} listeners, and had ${before.listeners}.`)
  for (const [resource, count] of Object.entries(now.resources)) {
    const had = before.resources[resource] ?? 0
    if (count > had + MORE_RESOURCES) excesses.push(`${who} has ${count} × ${resource}, and had ${had}.`)
  }
  return excesses
}

/** The last quiet days against the first ones, by what a task costs. */
function findDearer(days: readonly DayReport[]): string[] {
  const quiet = days.slice(1).filter(({ trouble }) => trouble === '')
  if (quiet.length < 2) return []
  const some = Math.max(1, Math.min(3, Math.floor(quiet.length / 2)))
  return (['cpuMs', 'statements', 'buffers'] as const).flatMap((what) => {
    const [early, late] = [quiet.slice(0, some), quiet.slice(-some)].map((part) =>
      Math.min(...part.map((report) => report[what])),
    ) as [number, number]
    return late > early * COST_GROWTH
      ? [`A task costs ${late.toFixed(2)} ${what} in the end, and ${early.toFixed(2)} in the beginning.`]
      : []
  })
}
