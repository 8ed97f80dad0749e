/**
 * Whether this database is older than what was bought: the service's list holds tasks of this installation
 * that the ledger does not know. Then nothing is posted until `storerank recover` has read them back
 * (src/post/recover.ts).
 */
import type { SqlRunner, Transaction } from '../db/database.ts'
import { formatMinute } from '../instant.ts'
import { parseTag } from './tag.ts'

export interface RestoreState {
  readonly installation: string
  /** Nothing is posted while it is set, by the clock of the service: from there on its list is read back. */
  readonly recoverFrom: Date | null
  readonly isApart: boolean
  /** Business time of the last charge; null when nothing was ever bought. */
  readonly lastChargeAt: Date | null
  readonly now: Date
}

/** A task of the service's list, as far as it matters here. */
export interface ListedTag {
  readonly id: string
  readonly tag: string | null
}

/** Of the job `recover`, which the command of that name runs. */
const RECOVERY_LOCK = 'job recover'
/** The list is compared again after this time, because two copies of one database may work at once. */
const CHECK_AGAIN_MINUTES = 60

/** Whether the service's list was compared with this very database within so many minutes; null: ever. */
export async function isChecked(
  db: SqlRunner,
  withinMinutes: number | null = CHECK_AGAIN_MINUTES,
): Promise<boolean> {
  const [row] = await db<{ checked: boolean }[]>`
    select exists (
      select from restore_check c
      where (c.checked_at > clock_timestamp() - make_interval(mins => ${withinMinutes}::int)) is not false
        and c.server_started_at = pg_postmaster_start_time() and c.written_by = c.xmin::text
        and c.database = (select d.oid::bigint from pg_database d where d.datname = current_database())
    ) as checked`
  return row?.checked ?? false
}

/** Writes down that the list was compared, and where. */
export async function recordCheck(db: SqlRunner): Promise<void> {
  await db`
    insert into restore_check (checked_at, server_started_at, database, written_by)
    select clock_timestamp(), pg_postmaster_start_time(), d.oid::bigint, pg_current_xact_id()::xid::text
    from pg_database d where d.datname = current_database()
    on conflict (only_one) do update set checked_at = excluded.checked_at,
      server_started_at = excluded.server_started_at,
      database = excluded.database, written_by = excluded.written_by`
}

/** The charges of the last day that has any are read by the index of their time. */
export async function readRestoreState(db: SqlRunner): Promise<RestoreState> {
  const [row] = await db<(RestoreState & { prunedBefore: Date | null })[]>`
    select l.installation, l.recover_from as "recoverFrom", l.is_apart as "isApart", storerank_now() as now, (
      select max(c.at) from charge c where c.at >= (
        select max(begins_at) from (
          select begins_at from spend where scope = 0 and tasks_charged > 0
          union all
          select begins_at from spend_change where scope = 0 and tasks_charged > 0
        ) day)
    ) as "lastChargeAt", (select max(before) from pruned_charge) as "prunedBefore"
    from ledger l`
  if (row === undefined) throw new Error('The table ledger has lost its one row.')
  const { prunedBefore, ...state } = row
  return { ...state, lastChargeAt: state.lastChargeAt ?? prunedBefore }
}

/**
 * Why nothing may be posted, as a sentence for a person and for the posts that stay `ready`; null when
 * posting is allowed.
 */
export async function readRestoreHold(db: SqlRunner): Promise<string | null> {
  const [row] = await db<{ recoverFrom: Date | null; isNew: boolean }[]>`
    select l.recover_from as "recoverFrom",
      not exists (select from charge) and not exists (select from pruned_charge) as "isNew"
    from ledger l`
  if (row === undefined || row.recoverFrom === null) return null
  const [lock] = await db<{ isHeld: boolean }[]>`select is_lock_held(${RECOVERY_LOCK}) as "isHeld"`
  if (lock?.isHeld) {
    return (
      '`storerank recover` is at work on this database. Nothing is posted until it has ended, so that ' +
      'nothing is paid for twice; then runners of ' +
      '`start` go on by themselves.'
    )
  }
  return row.isNew
    ? 'The account has tasks of a storerank database, and this one has never bought anything. Nothing is ' +
        'posted, so that nothing is ' +
        'paid for twice. If it stands in for that one, run `storerank recover`; if that one goes on, ' +
        'run `storerank recover --apart`.'
    : `The service lists tasks of this database, posted after ${formatMinute(row.recoverFrom)}, that its ` +
        'ledger does not know: it was restored from an ' +
        'older copy, or another copy of it is at work. Nothing is posted, so that nothing is paid for ' +
        'twice. Stop every other copy, ' +
        'then run `storerank recover`.'
}

/**
 * The tasks of an installation that are neither charged nor tasks of this database.
 * @returns their ids at the service
 */
export async function findForgotten(
  db: SqlRunner,
  installation: string,
  listed: readonly ListedTag[],
): Promise<string[]> {
  const own = listed.flatMap(({ id, tag }) => {
    const parsed = parseTag(tag)
    return parsed?.origin?.installation === installation ? [{ id, taskId: parsed.taskId }] : []
  })
  if (own.length === 0) return []
  const rows = await db<{ id: string }[]>`
    select f.service_id as id
    from unnest(${own.map((task) => task.id)}::text[],
      ${own.map((task) => task.taskId)}::uuid[]) as f (service_id, task_id)
    where not exists (select from charge c where c.service_id = f.service_id)
      and not exists (select from task k where k.id = f.task_id)`
  return rows.map((row) => row.id)
}

/**
 * Stops posting from now on. Of several calls the earliest instant stands. @param from by the clock of the
 * service
 */
export async function holdForRecovery(db: SqlRunner, from: Date): Promise<void> {
  await db`update ledger set recover_from = least(recover_from, ${from}::timestamptz)`
}

/** Everything that was posted before is known now; null ends the recovery, and posting goes on. */
export async function advanceRecovery(db: SqlRunner, to: Date | null): Promise<void> {
  await db`update ledger set recover_from = ${to}`
}

/** From now on this database is the one that posted the tasks of that installation. */
export async function adoptInstallationId(tx: Transaction, installation: string): Promise<void> {
  await tx`update ledger set installation = ${installation}`
}

/** The tasks of other installations on the account belong to databases that go on. */
export async function ignoreOtherInstallations(db: SqlRunner): Promise<void> {
  await db`update ledger set is_apart = true, recover_from = null`
}
