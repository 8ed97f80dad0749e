/**
 * What searches and charts say of each app in numbers: votes, rating, price. Written when one changes, at
 * most once a day of an app and place, and whole once a month. A batch first reads what others wrote.
 */
import type { Database, Transaction } from '../db/database.ts'
import { sql } from '../db/sql.ts'
import type { ListedNumbers } from '../service/search-result.ts'

export interface SeenNumbers {
  /** Of the app, in the dictionary. */
  readonly id: number
  readonly locationCode: number
  /** A day of UTC. */
  readonly day: string
  readonly numbers: ListedNumbers
}

/** What was written last, by place and app. */
export interface WrittenNumbers {
  readonly places: Map<number, { lastId: number; readonly apps: Map<number, Written> }>
  /** Apps of all places, before other places are forgotten and read again. */
  readonly maxCached: number
}

interface Written {
  readonly day: string
  readonly votes: number | null
  readonly rating: number | null
  readonly priceMicros: number
}

interface Change extends Omit<Written, 'day' | 'priceMicros'> {
  readonly id: number
  readonly priceMicros: number | null
}

const MAX_CACHED = 300_000
/** Of a row of `app_numbers`: what a smallint above 0 tells apart. */
const BLOCK = 32_768

export function createWritten(maxCached = MAX_CACHED): WrittenNumbers {
  return { places: new Map(), maxCached }
}

/** Writes what has changed. Nothing is looked up while a batch says what was written already. */
export async function writeNumbers(
  db: Database,
  written: WrittenNumbers,
  seen: readonly SeenNumbers[],
): Promise<void> {
  if (!seen.some((each) => findChange(written, each) !== null)) return
  const latest = latestOfEach(seen)
  await db.begin(async (tx) => {
    await tx`select wait_for_lock('numbers')`
    await readWritten(tx, written, latest)
    await insertChanges(tx, latest, written)
  })
}

/** Of each app and place what was seen on the latest day, there the first. */
function latestOfEach(seen: readonly SeenNumbers[]): SeenNumbers[] {
  const latest = new Map<string, SeenNumbers>()
  for (const each of seen) {
    const key = `${each.locationCode} ${each.id}`
    if ((latest.get(key)?.day ?? '') < each.day) latest.set(key, each)
  }
  return [...latest.values()]
}

const monthOf = (day: string) => day.slice(0, 7)

const NOTHING = { votes: null, rating: null, priceMicros: 0 } as const

/** What is known of an app in the month of a day: at first nothing. */
const knownIn = (found: Written | undefined, day: string) =>
  found !== undefined && monthOf(found.day) === monthOf(day) ? found : NOTHING

/** What is new of an app; null when nothing is, or the day is over. */
function findChange(written: WrittenNumbers, { id, locationCode, day, numbers }: SeenNumbers): Change | null {
  const found = written.places.get(locationCode)?.apps.get(id)
  if (found !== undefined && found.day >= day) return null
  const before = knownIn(found, day)
  const votes = numbers.votes === before.votes ? null : numbers.votes
  const rating = numbers.rating === before.rating ? null : numbers.rating
  const priceMicros = numbers.priceMicros === before.priceMicros ? null : numbers.priceMicros
  return votes === null && rating === null && priceMicros === null ? null : { id, votes, rating, priceMicros }
}

interface Row {
  readonly id: number
  readonly locationCode: number
  readonly day: string
  readonly ids: readonly number[]
  readonly votes: readonly (number | null)[] | null
  readonly ratings: readonly (number | null)[] | null
  readonly prices: readonly (number | null)[] | null
}

/** What was written of these places since they were read; of a new one, in the months that are written. */
async function readWritten(
  tx: Transaction,
  { places, maxCached }: WrittenNumbers,
  seen: readonly SeenNumbers[],
): Promise<void> {
  const codes = [...new Set(seen.map(({ locationCode }) => locationCode))]
  const read = codes.map((locationCode) => ({ locationCode, lastId: places.get(locationCode)?.lastId ?? 0 }))
  const cached = [...places.values()].reduce((sum, { apps }) => sum + apps.size, 0)
  if (cached > maxCached) for (const code of places.keys()) if (!codes.includes(code)) places.delete(code)
  const first = seen.reduce((day, each) => (each.day < day ? each.day : day), '9999-12')
  const rows = await tx<Row[]>`
    select n.id, n.location_code as "locationCode", n.day::text as day,
      array(select n.block * ${BLOCK} + a.app from unnest(n.apps) with ordinality a (app, place)
        order by a.place) as ids, n.votes, n.ratings, n.price_micros as prices
    from ${sql.rows('p', read, 'locationCode int, lastId bigint')}
    join app_numbers n on n.location_code = p.location_code and n.id > p.last_id
    where n.day >= ${`${monthOf(first)}-01`}::date
    order by n.day, n.id`
  for (const row of rows) remember(places, row)
}

function remember(places: WrittenNumbers['places'], { id, locationCode, day, ids, ...row }: Row): void {
  const place = places.get(locationCode) ?? { lastId: 0, apps: new Map<number, Written>() }
  places.set(locationCode, place)
  place.lastId = Math.max(place.lastId, id)
  for (const [index, app] of ids.entries()) {
    const before = knownIn(place.apps.get(app), day)
    place.apps.set(app, {
      day,
      votes: row.votes?.[index] ?? before.votes,
      rating: row.ratings?.[index] ?? before.rating,
      priceMicros: row.prices?.[index] ?? before.priceMicros,
    })
  }
}

async function insertChanges(
  tx: Transaction,
  seen: readonly SeenNumbers[],
  written: WrittenNumbers,
): Promise<void> {
  const keyOf = ({ locationCode, day, id }: SeenNumbers) => `${locationCode} ${day} ${Math.floor(id / BLOCK)}`
  const rows = [...Map.groupBy(seen, keyOf).values()].flatMap((group) => {
    const changes = group.flatMap((each) => findChange(written, each) ?? []).sort((a, b) => a.id - b.id)
    const [one] = group
    if (changes.length === 0 || one === undefined) return []
    return {
      locationCode: one.locationCode,
      day: one.day,
      block: Math.floor(one.id / BLOCK),
      apps: asArray(changes.map(({ id }) => id % BLOCK)),
      votes: asArray(changes.map(({ votes }) => votes)),
      ratings: asArray(changes.map(({ rating }) => rating)),
      prices: asArray(changes.map(({ priceMicros }) => priceMicros)),
      currency: group.find(({ numbers }) => numbers.currency !== null)?.numbers.currency ?? null,
    }
  })
  await tx`
    insert into app_numbers (location_code, day, block, apps, votes, ratings, price_micros, currency)
    select location_code, day, block, apps::smallint[], votes::int[], ratings::smallint[],
      prices::bigint[], currency
    from ${sql.rows('r', rows, ROW)}`
}

/** Arrays of different lengths, each as its text. */
const ROW = `
  locationCode int, day date, block int, apps text, votes text, ratings text, prices text, currency text`

/** As the text of an array in Postgres; null when nothing stands in it. */
const asArray = (values: readonly (number | null)[]) =>
  values.every((value) => value === null) ? null : `{${values.map((value) => value ?? 'null').join(',')}}`
