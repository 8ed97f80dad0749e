/** What a long life may not do, as sentences about what it did. */

import type { Told } from './events.ts'
import type { Held } from './hook.ts'
import type { DayReport, TableSize } from './measure.ts'

export interface Life {
  /** Due each day. */
  readonly tasks: number
  readonly days: readonly DayReport[]
  /** After all has become too old, and housekeeping has run. */
  readonly aged: readonly TableSize[]
  /** Where totals and charges differ then. */
  readonly differences: number
  /** Measurements that were paid for more than once, or of which the service's list says otherwise. */
  readonly boughtTwice: number
  readonly told: readonly Told[]
  /** Tables as they are after the last day, and freshly written. */
  readonly bloat: readonly (TableSize & { readonly freshBytes: number })[]
}

/** After that an operator has learned it from somebody else. */
const TOLD_WITHIN_MS = 5 * 60_000
const MEMORY_GROWTH = 1.1
/**
 * Two runners of 16 connections at most (ten of their pool, one for permits, one to look who holds a lock,
 * four of the queue), a few jobs that run with a session each, and the queue of the life itself. Pools open
 * them when they need them, not on the first day.
 */
const MOST_CONNECTIONS = 2 * 16 + 4 + 4
const MORE_RESOURCES = 4
/** Each connection has one that ends it for its age. */
const MORE_TIMERS = 16
/** Those of the database are counted there; the service keeps those of its deliveries open for a minute. */
const SOCKETS = /^TCP/
const MOST_SOCKETS = 256
const COST_GROWTH = 1.3
/** What a task costs: CPU by what the yardstick's work cost on the same day. */
const COSTS: readonly (readonly [what: string, read: (report: DayReport) => number])[] = [
  ['of the CPU of a yardstick', ({ cpuMs, yardstickMs }) => cpuMs / yardstickMs],
  ['statements', ({ statements }) => statements],
  ['buffers', ({ buffers }) => buffers],
]
/** With fewer in a day, what runners ask while nothing is due outweighs their work. */
const FEWEST_TASKS = 1_000
const BLOAT = 2
const MIB = 1024 * 1024
/** Beyond that: what is dead between two runs of autovacuum, and what tasks leave when they go. */
const DEAD_BYTES = MIB
const LEFT_BYTES = 1024
/** Empty when everything in them is too old. */
const TEMPORARY = [
  'task',
  'post',
  'charge',
  'ranking',
  'app_snapshot',
  'page',
  'rejected_result',
  'due_slot',
  'period_change',
  'service_failure',
]

/** @returns no sentence when all is well */
export function findExcesses(life: Life): string[] {
  const { days, aged, bloat, differences, boughtTwice, told } = life
  return [
    ...told
      .filter(({ afterMs }) => afterMs > TOLD_WITHIN_MS)
      .map(
        ({ event, kind, afterMs }) => `Of ${event} ${kind} was told after ${Math.round(afterMs / 1000)} s.`,
      ),
    ...days
      .filter(({ tasks }) => tasks !== life.tasks)
      .map(({ day, tasks }) => `Day ${day}: ${tasks} of ${life.tasks} measurements are there.`),
    ...(boughtTwice > 0
      ? [`${boughtTwice} measurements were paid for twice, or the service's list says otherwise of them.`]
      : []),
    ...findGrowth(days),
    ...findConnections(days),
    ...findDearer(days),
    ...(differences > 0
      ? [`The totals differ from the charges in ${differences} places: select * from spend_difference.`]
      : []),
    ...aged
      .filter(({ table, rows }) => TEMPORARY.includes(table) && rows > 0)
      .map(({ table, rows }) => `${table} has ${rows} rows that are older than it keeps.`),
    ...bloat
      .filter(({ bytes, freshBytes }) => bytes > freshBytes * BLOAT + DEAD_BYTES + life.tasks * LEFT_BYTES)
      .map(
        ({ table, bytes, freshBytes }) =>
          `${table} has ${(bytes / MIB).toFixed(1)} MiB, and ${(freshBytes / MIB).toFixed(1)} freshly ` +
          'written.',
      ),
  ]
}

/**
 * Each runner against its own first whole day: the one after that on which it was started. What piles up is
 * there on a quiet day too, and what a full disk holds up is not.
 */
function findGrowth(days: readonly DayReport[]): string[] {
  const names = new Set(days.flatMap(({ runners }) => Object.keys(runners)))
  return [...names].flatMap((name) => {
    const [, first, ...later] = days.flatMap(({ day, trouble, runners: { [name]: held } }) =>
      held === undefined ? [] : [{ who: `Day ${day}: ${name}`, held, isQuiet: trouble === '' }],
    )
    return later.flatMap(({ who, held, isQuiet }) =>
      first === undefined || !isQuiet ? [] : compareHeld(who, first.held, held),
    )
  })
}

function findConnections(days: readonly DayReport[]): string[] {
  return days
    .filter(({ connections }) => connections > MOST_CONNECTIONS)
    .map(
      ({ day, connections }) =>
        `Day ${day}: ${connections} connections, and ${MOST_CONNECTIONS} are the most that two runners need.`,
    )
}

function compareHeld(who: string, before: Held, now: Held): string[] {
  const excesses = now.warnings.map((warning) => `${who} was warned: ${warning}`)
  if (now.heapBytes > before.heapBytes * MEMORY_GROWTH)
    excesses.push(
      `${who} holds ${(now.heapBytes / MIB).toFixed(1)} MiB, and held ` +
        `${(before.heapBytes / MIB).toFixed(1)}.`,
    )
  if (now.listeners > before.listeners)
    excesses.push(`${who} has ${now.listeners} listeners, and had ${before.listeners}.`)
  for (const [resource, count] of Object.entries(now.resources)) {
    const had = before.resources[resource] ?? 0
    const most = SOCKETS.test(resource)
      ? MOST_SOCKETS
      : had + (resource === 'Timeout' ? MORE_TIMERS : MORE_RESOURCES)
    if (count > most) excesses.push(`${who} has ${count} × ${resource}, and had ${had}.`)
  }
  return excesses
}

/** The last quiet days against the first ones, by what a task costs. */
function findDearer(days: readonly DayReport[]): string[] {
  const quiet = days.slice(1).filter(({ trouble, tasks }) => trouble === '' && tasks >= FEWEST_TASKS)
  if (quiet.length < 2) return []
  const some = Math.max(1, Math.min(3, Math.floor(quiet.length / 2)))
  return COSTS.flatMap(([what, read]) => {
    const [early, late] = [quiet.slice(0, some), quiet.slice(-some)].map((part) =>
      Math.min(...part.map(read)),
    ) as [number, number]
    return late > early * COST_GROWTH
      ? [`A task costs ${late.toFixed(3)} ${what} in the end, and ${early.toFixed(3)} in the beginning.`]
      : []
  })
}
