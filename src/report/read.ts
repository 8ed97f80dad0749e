/**
 * Reads the report of a project: everything in one snapshot, so that its numbers agree, each part by one statement that does the
 * whole of it.
 */
import type { Database, Transaction } from '../db/database.ts'
import { ConfigurationError } from '../errors.ts'
import { didYouMean } from '../suggest.ts'
import type { Day, Report } from './model.ts'
import { readCoverage, readMoney } from './read-books.ts'
import { readApps, readRanks, readStandings } from './read-ranks.ts'
import { readAnnotations, readChanges, readRatings, readReviews } from './read-store.ts'

export interface ReportQuery {
  readonly project: string
  /** Default: 90 days with `to`, or as far back as the history goes. */
  readonly from?: Day
  /** Default: the last day of which the history knows anything: a measurement or a gap. */
  readonly to?: Day
  /** Of keywords and charts with this tag alone. */
  readonly tag?: string
}

/** What every part is read by. */
export interface Scope {
  readonly project: string
  readonly timezone: string
  readonly days: readonly Day[]
  readonly from: Day
  readonly to: Day
  /** The targets of keywords and charts with the tag; null: all of the project's. */
  readonly targets: readonly number[] | null
  /** The dictionary's ids of `Report.apps`, in their order. */
  readonly apps: readonly number[]
}

const DAYS = 90
const LONGEST_DAYS = 731
const DAY_MS = 86_400_000
const STATEMENT_LIMIT_MS = 120_000

/** The projects that have anything to report on, by name. */
export async function readProjects({ sql }: Pick<Database, 'sql'>): Promise<string[]> {
  const rows = await sql<{ name: string }[]>`select name from project where enabled order by name`
  return rows.map(({ name }) => name)
}

/**
 * @throws ConfigurationError when there is no such project or tag, or the range is empty or too long
 */
export async function readReport(db: Pick<Database, 'begin'>, query: ReportQuery): Promise<Report> {
  return db.begin((tx) => read(tx, query), {
    name: 'Reading a report',
    isReadOnlySnapshot: true,
    statementTimeoutMs: STATEMENT_LIMIT_MS,
  })
}

async function read(tx: Transaction, query: ReportQuery): Promise<Report> {
  const { timezone, now } = await readProject(tx, query.project)
  const days = listDays(await readRange(tx, query, timezone))
  const from = days[0] ?? ''
  const to = days.at(-1) ?? ''
  const apps = await readApps(tx, query.project, from)
  const targets = query.tag === undefined ? null : await readTagged(tx, query.project, query.tag)
  const scope: Scope = {
    project: query.project,
    timezone,
    days,
    from,
    to,
    targets,
    apps: apps.map(({ id }) => id),
  }
  return {
    project: query.project,
    timezone,
    tag: query.tag ?? null,
    writtenAt: now.toISOString(),
    days,
    apps: apps.map(({ id: _, ...app }) => app),
    ...(await readRanks(tx, scope)),
    ...(await readStandings(tx, scope)),
    changes: await readChanges(tx, scope),
    annotations: await readAnnotations(tx, scope, apps),
    ratings: await readRatings(tx, scope),
    ...(await readReviews(tx, scope)),
    coverage: await readCoverage(tx, scope),
    money: await readMoney(tx, scope),
  }
}

async function readProject(tx: Transaction, name: string): Promise<{ timezone: string; now: Date }> {
  const rows = await tx<{ name: string; timezone: string; now: Date }[]>`
    select name, timezone, storerank_now() as now from project`
  const project = rows.find((row) => row.name === name)
  if (project !== undefined) return project
  const names = rows.map((row) => row.name)
  throw new ConfigurationError(
    `There is no project ${JSON.stringify(name)}.${didYouMean(name, names)} Projects: ${names.join(', ') || 'none'}.`,
  )
}

async function readTagged(tx: Transaction, project: string, tag: string): Promise<number[]> {
  const rows = await tx<{ targetId: number }[]>`
    select distinct p.target_id as "targetId"
    from watch_period p
    left join keyword_watch k on p.kind = 'keyword' and k.id = p.watch_id
    left join chart_watch c on p.kind = 'chart' and c.id = p.watch_id
    where p.project = ${project} and ${tag} = any(coalesce(k.tags, c.tags))`
  if (rows.length > 0) return rows.map(({ targetId }) => targetId)
  const known = await tx<{ tag: string }[]>`
    select distinct unnest(tags) as tag from (
      select tags from keyword_watch where project = ${project} union all select tags from chart_watch where project = ${project}
    ) w order by 1`
  const tags = known.map((row) => row.tag)
  throw new ConfigurationError(
    `No keyword or chart of ${project} has the tag ${JSON.stringify(tag)}.${didYouMean(tag, tags)} Tags: ${tags.join(', ') || 'none'}.`,
  )
}

/** The days of the history, as far as the query does not name its own. */
async function readRange(
  tx: Transaction,
  query: ReportQuery,
  timezone: string,
): Promise<{ from: Day; to: Day }> {
  const [known] = await tx<{ first: Day; last: Day }[]>`
    select to_char(coalesce(min(r.slot), storerank_now()) at time zone ${timezone}, 'YYYY-MM-DD') as first,
      to_char(coalesce(max(r.slot), storerank_now()) at time zone ${timezone}, 'YYYY-MM-DD') as last
    from (select distinct target_id from watch_period where project = ${query.project} and kind in ('keyword', 'chart')) p
    cross join lateral (
      (select slot from ranking where target_id = p.target_id order by slot limit 1)
      union all
      (select slot from ranking where target_id = p.target_id order by slot desc limit 1)
    ) r`
  const to = query.to ?? known?.last ?? ''
  const earliest = addDays(to, 1 - DAYS)
  const first = known?.first ?? to
  const from = query.from ?? (first > earliest && first <= to ? first : earliest)
  if (from > to) throw new ConfigurationError(`The report would end before it begins: from ${from} to ${to}.`)
  if (addDays(from, LONGEST_DAYS) <= to) {
    throw new ConfigurationError(
      `A report is of ${LONGEST_DAYS} days at most; from ${from} to ${to} are more.`,
    )
  }
  return { from, to }
}

function listDays({ from, to }: { from: Day; to: Day }): Day[] {
  const length = Math.round((Date.parse(to) - Date.parse(from)) / DAY_MS) + 1
  return Array.from({ length }, (_, n) => addDays(from, n))
}

export function addDays(day: Day, days: number): Day {
  return new Date(Date.parse(day) + days * DAY_MS).toISOString().slice(0, 10)
}
