/** Reads the report of a project in one snapshot, so that its numbers agree, each part by one statement. */
import type { Database, Transaction } from '../db/database.ts'
import { ConfigurationError } from '../errors.ts'
import { nameKnown } from '../suggest.ts'
import { readCoverage, readMoney } from './read-books.ts'
import { readComparisons, readDuels } from './read-changes.ts'
import {
  readAdvertisers,
  readHolders,
  readPaid,
  readProducts,
  readSegments,
  readStrengths,
  readUnwatched,
} from './read-market.ts'
import { readApps, readRanks, readStandings } from './read-ranks.ts'
import { readAnnotations, readChanges, readImpacts, readRatings, readReviews } from './read-store.ts'
import { addDays, type Day, type Request, SPANS, type Span } from './scope.ts'

export interface ReportQuery {
  readonly project: string
  /** Default: as many `days` as it says, up to `to`. */
  readonly from?: Day
  /** Default: 90, or as far back as the history goes. */
  readonly days?: number
  /** Default: the last day of which the history knows anything: a measurement or a gap. */
  readonly to?: Day
  /** Of keywords and charts with this tag alone. */
  readonly tag?: string
  /** Of those of this location alone: its name, or the code of a country. */
  readonly location?: string
  /** What the last day is compared with. Default: `SPANS`. */
  readonly spans?: readonly Span[]
}

const DAYS = 90
const LONGEST_DAYS = 731
const STATEMENT_LIMIT_MS = 120_000

/** The projects that have anything to report on, by name. */
export async function readProjects({ sql }: Pick<Database, 'sql'>): Promise<string[]> {
  const rows = await sql<{ name: string }[]>`select name from project where enabled order by name`
  return rows.map(({ name }) => name)
}

/** @throws ConfigurationError: no such project or tag, or a range that is empty or too long */
export async function readReport(db: Pick<Database, 'begin'>, query: ReportQuery): Promise<Report> {
  return db.begin((tx) => read(tx, query), {
    name: 'Reading a report',
    isReadOnlySnapshot: true,
    statementTimeoutMs: STATEMENT_LIMIT_MS,
  })
}

/** Plain data, which the page, the terminal, the mail and `--json` show; apps and lists by their indexes. */
export type Report = Awaited<ReturnType<typeof read>>

async function read(tx: Transaction, query: ReportQuery) {
  // A plan that knows neither days nor project takes minutes, and several reports are read by one connection.
  await tx`set local plan_cache_mode = 'force_custom_plan'`
  const { now, ...request } = await readRequest(tx, query)
  const { project, timezone, tag, location, days } = request
  const apps = await readApps(tx, project, request.from)
  const appOf = new Map(apps.map(({ id }, index) => [id, index]))
  const { scope, ...ranks } = await readRanks(tx, { ...request, appOf })
  return {
    ...{ project, timezone, tag, location, days, ...ranks },
    writtenAt: now.toISOString(),
    apps: apps.map(({ id: _, ...app }) => app),
    ...(await readStandings(tx, scope)),
    comparisons: await readComparisons(tx, scope, query.spans ?? SPANS),
    duels: await readDuels(tx, scope),
    holders: await readHolders(tx, scope),
    strengths: await readStrengths(tx, scope),
    paid: await readPaid(tx, scope),
    advertisers: await readAdvertisers(tx, scope),
    unwatched: await readUnwatched(tx, scope),
    segments: await readSegments(tx, scope),
    products: await readProducts(tx, scope),
    changes: await readChanges(tx, scope),
    annotations: await readAnnotations(tx, scope, apps),
    impacts: await readImpacts(tx, scope),
    ratings: await readRatings(tx, scope),
    ...(await readReviews(tx, scope)),
    coverage: await readCoverage(tx, scope),
    money: await readMoney(tx, scope),
  }
}

/** Days, tag and location of a query by their own names. @throws ConfigurationError as `readReport` does */
export async function readRequest(
  tx: Transaction,
  query: ReportQuery,
): Promise<Request & { readonly now: Date }> {
  const projects = await tx<{ name: string; timezone: string; now: Date; today: Day }[]>`
    select name, timezone, storerank_now() as now,
      to_char(storerank_now() at time zone timezone, 'YYYY-MM-DD') as today
    from project order by name`
  const { timezone, now, today } = findProject(query.project, projects)
  if (query.to !== undefined && query.to > today) {
    throw new ConfigurationError(
      `${query.to} has not begun: in ${timezone}, where ${query.project} is, it is ${today}.`,
    )
  }
  const { from, to } = await readRange(tx, query, timezone)
  const days = [from]
  for (let day = from; day < to; days.push(day)) day = addDays(day, 1)
  return { project: query.project, timezone, now, days, from, to, ...(await readPart(tx, query)) }
}

/** @throws ConfigurationError when there is none of that name */
export function findProject<Row extends { readonly name: string }>(name: string, rows: readonly Row[]): Row {
  const project = rows.find((row) => row.name === name)
  if (project !== undefined) return project
  const names = rows.map((row) => row.name)
  const known = nameKnown(name, 'Projects', names)
  throw new ConfigurationError(`There is no project ${JSON.stringify(name)}.${known}`)
}

/** The project is there, and has nothing of what is asked for. */
export class NothingOfProjectError extends ConfigurationError {}

/** The tag and the location that are asked for, of those that the project has. */
async function readPart(
  tx: Transaction,
  { project, tag, location }: ReportQuery,
): Promise<Pick<Request, 'tag' | 'location'>> {
  if (tag === undefined && location === undefined) return { tag: null, location: null }
  const rows = await tx<{ kind: string; name: string; code: string | null }[]>`
    select distinct 'tag' as kind, unnest(tags) as name, null as code from project_list
    where project = ${project}
    union all
    select distinct 'location', l.location, c.country_iso_code from project_list l
    left join location c on c.store = l.store and c.code = l.location_code and c.type = 'Country'
    where l.project = ${project}
    order by 1, 2`
  const find = (kind: 'tag' | 'location', named: string | undefined) => {
    if (named === undefined) return null
    const known = rows.filter((row) => row.kind === kind)
    const found = known.find(({ name, code }) => name === named || code === named)
    if (found !== undefined) return found.name
    const has = kind === 'tag' ? 'has the tag' : 'is of the location'
    const what = `No keyword or chart of ${project} ${has} ${JSON.stringify(named)}`
    const names = known.map(({ name }) => name)
    throw new NothingOfProjectError(
      `${what}.${nameKnown(named, kind === 'tag' ? 'Tags' : 'Locations', names)}`,
    )
  }
  return { tag: find('tag', tag), location: find('location', location) }
}

/** The days of the query, else of the history; what is older than a report where it is all there is. */
async function readRange(
  tx: Transaction,
  query: ReportQuery,
  timezone: string,
): Promise<{ from: Day; to: Day }> {
  const [known] = await tx<{ first: Day; last: Day }[]>`
    with present as (
      select coalesce((${query.to ?? null}::date + 1)::timestamp at time zone ${timezone},
        storerank_now()) as at
    ), recent as materialized (
      select min(s.slot) as first, max(s.slot) as last from ranking_slot s
      where s.project = ${query.project}
        and s.slot > (select at from present) - make_interval(days => ${DAYS + 1})
    ), ever as (
      select coalesce(r.first, o.first, p.at) as first, coalesce(r.last, o.last, p.at) as last
      from present p cross join recent r left join lateral (
        select min(s.slot) as first,
          max(s.slot) as last from ranking_slot s where s.project = ${query.project} and r.first is null
      ) o on true
    )
    select to_char(first at time zone ${timezone}, 'YYYY-MM-DD') as first,
      to_char(last at time zone ${timezone}, 'YYYY-MM-DD') as last
    from ever`
  const to = query.to ?? known?.last ?? ''
  const earliest = addDays(to, 1 - (query.days ?? DAYS))
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
