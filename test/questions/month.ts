/** The month of the demo as it is stored, and what a person works out of it without a function of ours. */
import type postgres from 'postgres'

export interface Measurement {
  readonly day: string
  readonly store: string
  readonly keyword: string
  readonly place: number
  readonly weight: number
  readonly tags: readonly string[]
  /** By rank, the first 100; null: a gap. */
  readonly apps: readonly string[] | null
}

export interface Review {
  readonly app: string
  readonly day: string
  readonly stars: number
}

export const OWN = '1480010017'
export const OWN_ANDROID = 'com.ashlune.yoga'
export const RIVALS = ['1480010025', '1480010033', '1480010041']
export const [FIRST, LAST, WEEK_AGO] = ['2026-08-31', '2026-09-30', '2026-09-23']

export class Month {
  private readonly rows: readonly Measurement[]
  private readonly titles: ReadonlyMap<string, string>
  readonly reviews: readonly Review[]
  /** Votes and hundredths of a star by app and place, as the last day has them. */
  readonly numbers: ReadonlyMap<string, readonly [number | undefined, number | undefined]>

  constructor(
    rows: readonly Measurement[],
    titles: ReadonlyMap<string, string>,
    reviews: readonly Review[],
    numbers: Month['numbers'],
  ) {
    this.rows = rows
    this.titles = titles
    this.reviews = reviews
    this.numbers = numbers
  }

  titleOf(app: string): string {
    return this.titles.get(app) ?? app
  }

  of(where: Partial<Measurement>): readonly Measurement[] {
    return this.rows.filter((row) =>
      Object.entries(where).every(([key, value]) => row[key as keyof Measurement] === value),
    )
  }

  /** Each list of a store: its measurements by day. */
  lists(store: string): readonly (readonly Measurement[])[] {
    const key = ({ keyword, place }: Measurement) => `${keyword} ${place}`
    return [...Map.groupBy(this.of({ store }), key).values()]
  }
}

export async function readMonth(sql: postgres.Sql, project: string): Promise<Month> {
  const apps = await sql<{ id: number; app_id: string; title: string }[]>`select id, app_id, title from app`
  const idOf = new Map(apps.map(({ id, app_id }) => [id, app_id]))
  const rows = await sql<(Omit<Measurement, 'apps'> & { ids: number[] | null })[]>`
    select to_char(r.slot at time zone 'Europe/Berlin', 'YYYY-MM-DD') as day, t.store, t.subject as keyword,
      t.location_code as place, k.weight, k.tags, r.app_ids as ids
    from ranking r
    join target t on t.id = r.target_id and t.function = 'app_searches'
    join keyword_watch k on k.project = ${project} and k.store = t.store and k.keyword = t.subject
      and k.location_code = t.location_code
    order by 1, 2, 3, 4`
  type Kept = { place: number; ids: number[]; votes: number[] | null; ratings: number[] | null }
  const kept = await sql<Kept[]>`
    select location_code as place, array(select block * 32768 + a from unnest(apps) a) as ids,
      to_jsonb(votes) as votes, to_jsonb(ratings) as ratings
    from app_numbers order by day, id`
  const numbers = new Map<string, readonly [number | undefined, number | undefined]>()
  for (const { place, ids, votes, ratings } of kept) {
    for (const [n, id] of ids.entries()) {
      const key = `${idOf.get(id)} ${place}`
      const [known, stars] = numbers.get(key) ?? []
      numbers.set(key, [votes?.[n] ?? known, ratings?.[n] ?? stars])
    }
  }
  const reviews = await sql<Review[]>`
    select a.app_id as app, to_char(r.written_at at time zone 'Europe/Berlin', 'YYYY-MM-DD') as day,
      r.rating::float8 as stars
    from review r join app a on a.id = r.app`
  return new Month(
    rows.map(({ ids, ...row }) => ({ ...row, apps: ids?.map((id) => idOf.get(id) ?? '') ?? null })),
    new Map(apps.map(({ app_id, title }) => [app_id, title])),
    reviews,
    numbers,
  )
}

/** Null: not among the first 100; undefined: not measured. */
export function rankOf(list: readonly Measurement[], day: string, app: string): number | null | undefined {
  const apps = list.find((row) => row.day === day)?.apps
  if (apps === undefined || apps === null) return undefined
  const place = apps.indexOf(app)
  return place === -1 ? null : place + 1
}

/** The middle of the measured days from one to another, the lower of two; not found counts as `beyond`. */
export function middleRank(
  list: readonly Measurement[],
  [from, to]: readonly [string, string],
  app: string,
  beyond = 101,
): number | undefined {
  const ranks = list
    .filter(({ day, apps }) => day >= from && day <= to && apps !== null)
    .map(({ day }) => rankOf(list, day, app) ?? beyond)
    .sort((a, b) => a - b)
  return ranks[Math.ceil(ranks.length / 2) - 1]
}

export function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
export function mean(values: readonly number[]): number {
  return sum(values) / values.length
}
/** As answers are compared: one digit behind the point. */
export function round(value: number): number {
  return Math.round(value * 10) / 10
}

/** Of these lists, the share of what is won by standing first on all: 1/rank times the weight, in percent. */
export function visibility(lists: readonly (readonly Measurement[])[], day: string, app: string): number {
  const measured = lists.filter((list) => rankOf(list, day, app) !== undefined)
  const won = measured.map((list) => (list[0]?.weight ?? 0) / (rankOf(list, day, app) ?? Infinity))
  return (100 * sum(won)) / sum(measured.map((list) => list[0]?.weight ?? 0))
}

export interface Question {
  readonly asks: string
  /** Where a person finds it: a section of the page, a command (`ask`, where `by` is SQL), or a query. */
  readonly on: 'page' | 'command' | 'sql'
  /** Of a command what stands behind `storerank`; else SQL. */
  readonly by: string | readonly string[]
  /** Rows in order, or what a command has to print. */
  readonly answer: (months: Months) => readonly (readonly unknown[])[] | readonly RegExp[]
}

export interface Months {
  readonly fitness: Month
  readonly learning: Month
}

export const [BEFORE, AFTER] = [['2026-09-16', '2026-09-22'] as const, ['2026-09-23', '2026-09-29'] as const]
export const IOS = 'ios_store'
/** The second own app of the project `learning`. */
export const SECOND_OWN = '1224058329'

/** What a list says of an app in two weeks, where both have a measurement. */
export function weeks(lists: readonly (readonly Measurement[])[], app: string) {
  const ends = lists.flatMap((list) => {
    const [before, after] = [middleRank(list, BEFORE, app), middleRank(list, AFTER, app)]
    return before === undefined || after === undefined ? [] : [{ list, before, after }]
  })
  return { compared: ends.length, ranked: ends.filter(({ before, after }) => Math.min(before, after) < 101) }
}

export const words = (list: readonly Measurement[]) => (list[0]?.keyword ?? '').split(' ')
