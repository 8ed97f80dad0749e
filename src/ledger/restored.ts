/**
 * Whether another database may have bought what this one would buy: it is a copy, or the service lists tasks
 * that its ledger does not know. Then nothing is posted until a person runs `storerank recover`.
 */
import { randomBytes } from 'node:crypto'
import type { Database, SqlRunner, Transaction } from '../db/database.ts'
import { oneRow } from '../db/one-row.ts'
import { sql } from '../db/sql.ts'
import { ConfigurationError } from '../errors.ts'
import type { TaskIdRow } from '../service/task-ids.ts'
import { withLedgerLock } from './lock.ts'
import { parseTag } from './tag.ts'

export interface RestoreState {
  readonly installation: string
  /** Nothing is posted while it is set, by the clock of the service: from there on its list is read back. */
  readonly recoverFrom: Date | null
  readonly isApart: boolean
  /** Business time of the last charge; null when nothing was ever bought. */
  readonly lastChargeAt: Date | null
  /** When the list was compared last: a copy may collect and charge before it is compared itself. */
  readonly checkedAt: Date | null
  readonly now: Date
  /** How far the clock was ahead of the service's lately, at most: a copy may have another one. */
  readonly wasAheadMs: number
  readonly clockAt: Date
}

/** The list is compared again after this time, because two copies of one database may work at once. */
const CHECK_AGAIN_MINUTES = 60

/** Whether the service's list was compared with this very database within so many minutes; null: ever. */
export async function isChecked(
  { sql: db, place }: Database,
  withinMinutes: number | null = CHECK_AGAIN_MINUTES,
): Promise<boolean> {
  const rows = await db<{ checked: boolean }[]>`
    select not is_copy() and exists (
      select from restore_check c
      where (c.checked_at between clock_timestamp() - make_interval(mins => ${withinMinutes}::int)
          and clock_timestamp()) is not false
        and c.server_started_at = pg_postmaster_start_time() and ${place}::text = any(c.places)
    ) as checked`
  return oneRow(rows).checked
}

/** By which a copy of the database is told from it: the row is written anew with each check. */
const THIS_DATABASE = sql`(select oid::bigint from pg_database where datname = current_database())`
const THIS_TRANSACTION = sql`pg_current_xact_id()::xid::text`

/** Writes down that the list was compared, and where. Of a copy: that it goes on, as a person has said. */
export async function recordCheck({ sql: db, place }: Pick<Database, 'sql' | 'place'>): Promise<void> {
  await db`
    insert into restore_check (checked_at, server_started_at, database, written_by, places)
    values (clock_timestamp(), pg_postmaster_start_time(), ${THIS_DATABASE}, ${THIS_TRANSACTION},
      array[${place}::text])
    on conflict (only_one) do update set checked_at = excluded.checked_at,
      server_started_at = excluded.server_started_at,
      database = excluded.database, written_by = excluded.written_by,
      places = array(select distinct unnest(case when is_copy() then '{}' else restore_check.places end
        || excluded.places))`
}

/** Writes down where the database begins to work, or goes on: copies from then on are told from it. */
export async function recordOrigin(db: SqlRunner): Promise<void> {
  await db`delete from restore_check`
  await db`
    insert into restore_check (checked_at, server_started_at, database, written_by)
    values ('-infinity', '-infinity', ${THIS_DATABASE}, ${THIS_TRANSACTION})`
}

/** By which a move that was broken off is known, which may begin again. */
const UNDER_WAY = 'What this database has is being moved to another one'

/**
 * Holds the database while its rows are moved to another one: else both might post.
 * @throws ConfigurationError when it is held for another reason
 */
export async function holdForMove(db: SqlRunner): Promise<void> {
  const sentence =
    `${UNDER_WAY}, and nothing is posted until that has ended. If the move was broken off, run \`storerank ` +
    'move` again, or `storerank recover` on the one that goes on.'
  const { count } = await db`
    update ledger set recover_from = coalesce(recover_from, clock_timestamp()), hold_reason = ${sentence}
    where restore_hold() is null or hold_reason like ${`${UNDER_WAY}%`}`
  if (count === 0)
    throw new ConfigurationError(`${await readRestoreHold(db)} It is moved after that. Nothing was changed.`)
}

/** What was on the way is at another place: nothing is posted from here any more. */
export async function noteMoved(db: SqlRunner, place: string): Promise<void> {
  await db`
    update ledger set hold_reason = format('What this database had was moved to %s at %s. Nothing is posted '
      'from here, so that nothing is paid for twice. If that one is given up, run \`storerank recover\`.',
      ${place}::text, utc_minute(clock_timestamp()))`
}

/**
 * A copy of the files of a database differs by its server, which has started since, and by its address. Where
 * a runner at a known address comes after one at a new one, it was no copy.
 */
export async function noteMove({ sql: db, place }: Database): Promise<void> {
  await db`
    update restore_check c set
      written_by = case when k.is_known then ${THIS_TRANSACTION} else '' end
    from (select ${place}::text = any(places) as is_known from restore_check) k
    where case when k.is_known then c.written_by = ''
      else c.written_by = c.xmin::text and c.server_started_at <> pg_postmaster_start_time()
        and cardinality(c.places) > 0 end`
}

/** The charges of the last day that has any are read by the index of their time. */
export async function readRestoreState(db: SqlRunner): Promise<RestoreState> {
  const rows = await db<RestoreState[]>`
    select l.installation, l.recover_from as "recoverFrom", l.is_apart as "isApart", storerank_now() as now,
      coalesce((
        select max(c.at) from charge c where c.at >= (
          select max(begins_at) from spend where scope = 0 and tasks_charged > 0)
      ), (select ends_at from spend where scope = 0 and begins_at = '-infinity')) as "lastChargeAt",
      (select nullif(checked_at, '-infinity') from restore_check) as "checkedAt",
      (select coalesce(max(u.ahead_s), 0) from account_usage u where u.fetched_at > (
        select checked_at - interval '1 day' from restore_check)) * 1000::float8 as "wasAheadMs",
      clock_timestamp() as "clockAt"
    from ledger l`
  return oneRow(rows)
}

/** Why nothing may be posted, as a sentence; null when posting is allowed. */
export async function readRestoreHold(db: SqlRunner): Promise<string | null> {
  return oneRow(await db<{ hold: string | null }[]>`select restore_hold() as hold`).hold
}

/** The ids of listed tasks of an installation that are neither charged nor tasks of this database. */
export async function findForgotten(
  db: SqlRunner,
  installation: string,
  listed: readonly Pick<TaskIdRow, 'id' | 'tag'>[],
): Promise<string[]> {
  const own = listed.flatMap(({ id, tag }) => {
    const parsed = parseTag(tag)
    return parsed?.origin?.installation === installation ? [{ id, taskId: parsed.taskId }] : []
  })
  if (own.length === 0) return []
  const rows = await db<{ id: string }[]>`
    select f.id from ${sql.rows('f', own, 'id text, taskId uuid')}
    where not exists (select from charge c where c.service_id = f.id)
      and not exists (select from task k where k.id = f.task_id)`
  return rows.map((row) => row.id)
}

/**
 * Stops posting; of several calls the earliest instant stands, and the first reason.
 * @param from by the clock of the service
 * @param reason a sentence that says why, and what to do
 */
export async function holdForRecovery(db: SqlRunner, from: Date, reason: string): Promise<void> {
  await db`
    update ledger set recover_from = least(recover_from, ${from}::timestamptz),
      hold_reason = coalesce(hold_reason, ${reason})`
}

/** Everything that was posted before is known now; null ends any hold, and posting goes on. */
export async function advanceRecovery(db: SqlRunner, to: Date | null): Promise<void> {
  await db`
    update ledger set recover_from = ${to}::timestamptz,
      hold_reason = case when ${to}::timestamptz is not null then hold_reason end`
}

/** When the recovery began that was broken off; null where there is none. */
export async function readBrokenRecovery(db: SqlRunner): Promise<Date | null> {
  const [row] = await db<{ startedAt: Date }[]>`
    select r.started_at as "startedAt" from job_run r, ledger l
    where r.job = 'recover' and r.state <> 'done' and l.recover_from is not null
    order by r.slot desc limit 1`
  return row?.startedAt ?? null
}

/** From now on this database is the one that posted the tasks of that installation. */
export async function adoptInstallationId(tx: Transaction, installation: string): Promise<void> {
  await tx`update ledger set installation = ${installation}`
}

/**
 * From now on this database is one of its own beside others of the account. A copy gets another installation,
 * and what may have been sent by both another id: tags of one would be taken for the other's.
 */
export async function standApart(db: Database): Promise<void> {
  await withLedgerLock(db, 'Standing apart', async (tx) => {
    if ((await readRestoreHold(tx)) !== null) {
      await tx`update ledger set installation = ${randomBytes(6).toString('hex')}`
      await tx`update task set id = uuid_v7() where state in ('planned', 'posting')`
    }
    await tx`update ledger set is_apart = true, recover_from = null, hold_reason = null`
    await recordCheck({ sql: tx, place: db.place })
  })
}

const SANDBOX = 'the sandbox'

/**
 * Ties the database to one account, for ever, when it is first used: results of two services must not mix,
 * and no account has the results of another.
 * @param account the login, or how the sandbox is called
 * @returns whether this was the first time
 * @throws ConfigurationError when the database belongs to another account
 */
export async function claimDatabaseFor(db: Database, account: string): Promise<boolean> {
  const { isFirst, owner } = await claim(db, () => account)
  if (owner === account) return isFirst
  throw refuse(owner, account)
}

/**
 * Ties the database to the sandbox likewise. One of a person's own has an account there by its name, because
 * the sandbox of a home may have sold to others.
 * @returns the name of that account; null: the one of the embedded database
 * @throws ConfigurationError when the database belongs to another account
 */
export async function claimSandboxFor(db: Database, isOwn: boolean): Promise<string | null> {
  const { owner } = await claim(db, (name) => (isOwn ? `${SANDBOX} ${name}` : SANDBOX))
  if (owner === SANDBOX) return null
  if (!owner.startsWith(`${SANDBOX} `)) throw refuse(owner, SANDBOX)
  return owner.slice(SANDBOX.length + 1)
}

/** Copies of a database that has never worked get names of their own here, and then know each other. */
async function claim(
  { sql: db }: Database,
  accountOf: (installation: string) => string,
): Promise<{ isFirst: boolean; owner: string }> {
  const name = randomBytes(6).toString('hex')
  const { count } = await db`
    update ledger set account = ${accountOf(name)}, installation = ${name} where account is null`
  if (count > 0) await recordOrigin(db)
  const [row] = await db<{ account: string }[]>`select account from ledger`
  return { isFirst: count > 0, owner: row?.account ?? accountOf(name) }
}

function refuse(owner: string, account: string): ConfigurationError {
  return new ConfigurationError(
    `The database holds what was measured with ${owner}, and must not mix it with ${account}. ` +
      'Mend APP_DATA_URL and APP_DATA_LOGIN, or use another database. (If it is the same account by ' +
      `another name: update ledger set account = '…'.)`,
  )
}
