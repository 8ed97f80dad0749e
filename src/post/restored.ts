/**
 * Before a process posts, the newest tasks of the service's list are compared with the ledger: an older copy
 * would pay again for what was bought since, and a copy beside its original for what that one buys.
 */
import type { Database } from '../db/database.ts'
import { ConfigurationError, UnavailableError } from '../errors.ts'
import { formatInstant, formatMinute } from '../instant.ts'
import {
  findForgotten,
  holdForRecovery,
  isChecked,
  noteMove,
  type RestoreState,
  readRestoreHold,
  readRestoreState,
  recordCheck,
} from '../ledger/restored.ts'
import { parseTag } from '../ledger/tag.ts'
import type { AppDataClient } from '../service/client.ts'
import type { TaskIdRow } from '../service/task-ids.ts'
import {
  EDGE_MS,
  type Range,
  readPages,
  type ScanOptions,
  scanNewestTasks,
  TAGS_KNOWN_DAYS,
  waitUntilListed,
} from './task-history.ts'

const DAY_MS = 86_400_000
/** Of the newest: 10 a minute are allowed (spec: Limits). */
const PAGES_OF_A_NEW_DATABASE = 5

/** One check at a time in a process: ten posts that begin at once need one. */
const checks = new WeakMap<Database, Promise<void>>()

/**
 * Compares the list with the ledger, unless that was done so shortly before. What it finds stops all posting.
 * @param withinMinutes default: an hour
 * @throws what `listTaskIds` throws; UnavailableError when the list never stood still while it was read
 */
export async function checkForRestore(
  db: Database,
  client: AppDataClient,
  signal?: AbortSignal,
  withinMinutes?: number,
): Promise<void> {
  if (await isChecked(db, withinMinutes)) return
  const running = checks.get(db) ?? check(db, client, signal).finally(() => checks.delete(db))
  checks.set(db, running)
  return running
}

/**
 * Does the same, for a command that posts.
 * @throws ConfigurationError when posting is stopped, with what to do
 */
export async function refuseRestored(
  db: Database,
  client: AppDataClient,
  signal?: AbortSignal,
): Promise<void> {
  await checkForRestore(db, client, signal)
  const hold = await readRestoreHold(db.sql)
  if (hold !== null) throw new ConfigurationError(hold)
}

async function check(db: Database, client: AppDataClient, signal?: AbortSignal): Promise<void> {
  await noteMove(db)
  if ((await readRestoreHold(db.sql)) !== null) return
  const state = await readRestoreState(db.sql)
  // Another copy may have posted until a moment ago, when this one took its place: nothing is clean before
  // that is listed.
  if (!(await isChecked(db, null))) await waitUntilListed(client, signal)
  const range = await rangeSinceLastCharge(client, state)
  const findReason = state.lastChargeAt === null ? standsIn : listsForgotten
  const reason = await findReason(db, client, range, state, signal)
  if (reason !== null) await holdForRecovery(db.sql, range.from, reason)
  else await recordCheck(db)
}

/**
 * From the last charge, or the last comparison where that was before it, to the end of the list, by the clock
 * of the service. Where the clock was further ahead than it is, as on another server, it begins earlier.
 */
export async function rangeSinceLastCharge(
  client: AppDataClient,
  { lastChargeAt, checkedAt, now, wasAheadMs, clockAt }: RestoreState,
): Promise<Range & { readonly lastCharge: Date }> {
  const { present, listedTo: to } = await client.readListEnd()
  const setBackMs = Math.max(0, wasAheadMs + present.getTime() - clockAt.getTime())
  const aheadMs = present.getTime() - now.getTime() - setBackMs
  const oldestMs = to.getTime() - TAGS_KNOWN_DAYS * DAY_MS
  const chargeMs = lastChargeAt === null ? -Infinity : lastChargeAt.getTime() + aheadMs
  const checkMs = checkedAt === null ? Infinity : checkedAt.getTime() + aheadMs
  const sinceMs = Math.max(oldestMs, Math.min(chargeMs, checkMs) - EDGE_MS)
  const from = new Date(Math.min(to.getTime(), sinceMs))
  return { from, to, lastCharge: new Date(Math.max(from.getTime(), chargeMs + setBackMs)) }
}

/** What to do about tasks that the ledger does not know. @param from by the clock of the service */
export function describeForgotten(from: Date): string {
  return (
    `The service lists tasks of this database, posted after ${formatMinute(from)}, that its ledger does ` +
    'not know: it was restored from an older copy, or another copy of it is at work. Nothing is posted, so ' +
    'that nothing is paid for twice. Stop every other copy, then run `storerank recover`; if another one ' +
    'goes on, run `storerank recover --apart` here.'
  )
}

/** @param others of the account, as far as they were seen */
function describeOthers(others: readonly Installation[]): string {
  const one = others.length === 1
  const named = one ? '' : ` --installation ${others[0]?.installation}`
  return (
    `The account has tasks of ${one ? 'another storerank database' : 'other storerank databases'}, ` +
    `${others.map(describeInstallation).join(', ')}, and this one has never bought anything. Nothing is ` +
    'posted, so that nothing is paid for twice, until you have said which it is. If it stands in for ' +
    `${one ? 'that one' : 'one of them'}, run \`storerank recover${named}\`; if ` +
    `${one ? 'that one goes' : 'they go'} on, run \`storerank recover --apart\`.`
  )
}

/** Why nothing may be posted; null where nothing is forgotten: what an older copy lacks is the newest. */
async function listsForgotten(
  db: Database,
  client: AppDataClient,
  range: Awaited<ReturnType<typeof rangeSinceLastCharge>>,
  { installation }: RestoreState,
  signal?: AbortSignal,
): Promise<string | null> {
  const keepOwn = (row: TaskIdRow) =>
    installationOf(row) === installation ? { id: row.id, tag: row.tag } : null
  const { found, isComplete } = await scanNewestTasks(client, range, range.lastCharge, keepOwn, signal)
  const forgotten = await findForgotten(db.sql, installation, found)
  if (forgotten.length > 0) return describeForgotten(range.from)
  if (isComplete) return null
  throw new UnavailableError(
    'The tasks that the service lists changed places each time they were read, so nothing is posted ' +
      'before they are read again.',
  )
}

/**
 * Without a single charge: tasks of another installation mean that it may replace the one that posted them.
 */
async function standsIn(
  db: Database,
  client: AppDataClient,
  range: Range,
  { isApart, installation }: RestoreState,
  signal?: AbortSignal,
): Promise<string | null> {
  const newest = await readNewest(client, range, { signal })
  const forgotten = await findForgotten(db.sql, installation, newest)
  if (forgotten.length > 0) return describeForgotten(range.from)
  const others = listInstallations(newest).filter((other) => other.installation !== installation)
  return others.length > 0 && !isApart ? describeOthers(others) : null
}

/** A database of storerank, as far as the tags of its tasks tell of it. */
interface Installation {
  readonly installation: string
  /** Those that were seen: there may be more. */
  readonly tasks: number
  readonly lastPostedAt: Date
}

/** For people, who know a database by when it last worked. */
export function describeInstallation({ installation, tasks, lastPostedAt }: Installation): string {
  const seen = tasks === 1 ? '1 task' : `${tasks} tasks`
  return `${installation} (${seen} seen, the last posted at ${formatInstant(lastPostedAt)})`
}

/** Those that posted the newest tasks of the account. Waits where the limit of the list is used up. */
export async function readInstallations(
  client: AppDataClient,
  range: Range,
  signal?: AbortSignal,
): Promise<Installation[]> {
  return listInstallations(await readNewest(client, range, { signal, waitsForLimit: true }))
}

function listInstallations(rows: readonly TaskIdRow[]): Installation[] {
  return [...Map.groupBy(rows, installationOf)].flatMap(([installation, own]) => {
    const postedMs = own.map((row) => row.datetimePosted.getTime())
    const lastPostedAt = new Date(Math.max(...postedMs))
    return installation === null ? [] : [{ installation, tasks: own.length, lastPostedAt }]
  })
}

function installationOf({ tag }: TaskIdRow): string | null {
  return parseTag(tag)?.origin?.installation ?? null
}

async function readNewest(client: AppDataClient, range: Range, options: ScanOptions): Promise<TaskIdRow[]> {
  const rows: TaskIdRow[] = []
  const pages = readPages(client, range, { ...options, sort: 'desc', most: PAGES_OF_A_NEW_DATABASE })
  for await (const page of pages) rows.push(...page)
  return rows
}
