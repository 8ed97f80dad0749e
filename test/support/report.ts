/**
 * A report of an invented project, the same for the same seed: a release that helps, a drop, a rival that
 * comes in, one day without the service, one day short of budget, keywords added in the middle, and text that
 * would break a careless page.
 */

import { type Database, openDatabase } from '../../src/db/database.ts'
import { GAP_POINTS, gapOf, NOTHING_DUE, notInTop, type Point } from '../../src/report/points.js'
import type { Report } from '../../src/report/read.ts'
import { readReport } from '../../src/report/read.ts'
import type { RankedList, ReportedApp } from '../../src/report/read-ranks.ts'
import type { Gap } from '../../src/text/gaps.js'
import { createRandom } from './random.ts'
import { spend } from './report-money.ts'
import { createWatchlist, type Watchlist } from './watchlist.ts'

export interface Shape {
  readonly seed: number
  readonly keywords: number
  readonly days: number
}

/** Text that means something to HTML, scripts, spreadsheets or terminals, or is unlike English. */
export const HOSTILE_NAMES = [
  '</script><script>document.title = "stolen"</script>',
  '"><img src="https://evil.example/x" onerror="document.title = 1">',
  "'; drop table task; --",
  '<!--<script>',
  '=HYPERLINK("https://evil.example")',
  '&lt;b&gt; &amp; entities',
  'ヨガ 初心者',
  'תרגילי יוגה',
  'yoga \u202egnp.exe',
  'a very long keyword that somebody pasted from a sentence and that does not end where one would ' +
    'expect it to end at all',
  'constructor',
  'Straße & Äpfel 🧘',
  'Rindfleischetikettierungsüberwachungsaufgabenübertragungsgesetz'.repeat(3),
  '\u200b\u2060\ufeff',
  '👨‍👩‍👧‍👦🧘🏽‍♀️',
]

const DEPTH = 100
const OUTAGE = 0.33
const RELEASE = 0.45
const ADDED = 0.5
const SHORT_OF_BUDGET = 0.72
const DROP = 0.8

const APPS: readonly ReportedApp[] = [
  { store: 'ios_store', appId: '1480010017', name: 'Ashlune: Yoga for Everyone', role: 'own' },
  { store: 'android_store', appId: 'com.ashlune.yoga', name: 'Ashlune Yoga', role: 'own' },
  { store: 'ios_store', appId: '1480010101', name: 'Calmly – Meditation & Sleep', role: 'competitor' },
  { store: 'ios_store', appId: '1480010102', name: 'Down Cat <b>Yoga</b>', role: 'competitor' },
  { store: 'ios_store', appId: '1480010103', name: 'Stretchwell', role: 'competitor' },
  { store: 'ios_store', appId: '1480010104', name: 'Posture Lab', role: 'competitor' },
  { store: 'android_store', appId: 'com.calmly', name: 'Calmly', role: 'competitor' },
  { store: 'android_store', appId: 'com.stretchwell', name: 'Stretchwell', role: 'competitor' },
]

/** What became of the apps on a list, by day. */
interface Course {
  readonly app: number
  readonly points: readonly Point[]
}

const made = new Map<string, Promise<Report>>()

/**
 * A report as it is read of a history of such a shape, made once in a process. What the stores and the
 * service said is made up beside it.
 */
export function createReport(shape: Shape): Promise<Report> {
  const key = JSON.stringify(shape)
  const report = made.get(key) ?? makeReport(shape)
  made.set(key, report)
  return report
}

async function makeReport(shape: Shape): Promise<Report> {
  const random = createRandom(shape.seed).next
  const days = Array.from({ length: shape.days }, (_, n) =>
    new Date(Date.UTC(2026, 0, 1 + n)).toISOString().slice(0, 10),
  )
  const lists = makeLists(shape.keywords, random)
  const gaps = lists.map((_, list) => makeGaps(list, days.length, random))
  const courses = lists.map((list, n) => makeCourses(list, gaps[n] ?? [], random))
  const at = (share: number) => days[Math.floor(share * (days.length - 1))] ?? ''
  const watchlist = await createWatchlist()
  const db = openDatabase(watchlist.url)
  try {
    await watch(watchlist, lists, days)
    await fill(watchlist, courses, gaps, days)
    return {
      ...rename(await read(watchlist, db, days), lists),
      changes: makeChanges(at),
      annotations: [
        { day: at(OUTAGE), app: null, text: 'The store was down for hours' },
        { day: at(0.6), app: 0, text: 'Spring campaign <b>begins</b>' },
      ],
      ...makeRatings(days, random),
      money: spend(days, gaps),
    }
  } finally {
    await db.close()
    await watchlist.drop()
  }
}

const CODES: Readonly<Record<string, number>> = { US: 2840, DE: 2276, JP: 2392 }
/** As which a list is watched: no name of `HOSTILE_NAMES` is one that may be. */
const nameOf = (list: number) => `list ${String(list).padStart(4, '0')}`

/** Some lists are added in the middle. */
async function watch(
  { sql, setNow }: Watchlist,
  lists: readonly RankedList[],
  days: readonly string[],
): Promise<void> {
  const rows = lists.map(({ store, kind, place, language, tags, weight }, n) => ({
    ...{ n, store, kind, language, tags, weight, keyword: nameOf(n), location_code: CODES[place] ?? 0 },
    day: isAdded(n) ? days[Math.floor(ADDED * (days.length - 1))] : days[0],
  }))
  await sql`insert into project (name, timezone) values ('fitness', 'Europe/Berlin')`
  await sql`
    insert into location (store, code, name, type, country_iso_code)
    select s, c.code::int, c.place, 'Country', c.place from unnest(array['ios_store', 'android_store']) s
    cross join jsonb_each_text(${sql.json(CODES)}) c (place, code)`
  await setNow(`${days[0]} 00:00+00`)
  for (const { store, appId, name, role } of APPS)
    await sql`insert into app_watch (project, store, app_id, label, role)
      values ('fitness', ${store}, ${appId}, ${name}, ${role})`
  for (const [day, ofDay] of Map.groupBy(rows, (row) => row.day)) {
    await setNow(`${day} 00:00+00`)
    const watched = sql`jsonb_to_recordset(${sql.json(ofDay)}) w
      (store text, kind text, language text, tags text[], weight float8, keyword text, location_code int)`
    await sql`
      insert into keyword_watch (project, store, keyword, location_code, language_code, tags, weight)
      select 'fitness', store, keyword, location_code, language, tags, weight from ${watched}
        where kind = 'keyword'`
    await sql`
      insert into chart_watch (project, collection, category, location_code, language_code, tags)
      select 'fitness', 'topselling_free', 'health_and_fitness', location_code, language, tags from ${watched}
        where kind = 'chart'`
  }
}

/** Places that no app of the project has are held by one that it does not watch. */
async function fill(
  { sql }: Watchlist,
  courses: readonly (readonly Course[])[],
  gaps: readonly (readonly (Point | null)[])[],
  days: readonly string[],
): Promise<void> {
  await sql`insert into app (store, app_id) values ('ios_store', '1')`
  const known = await sql<{ id: number; appId: string }[]>`select id, app_id as "appId" from app`
  const idOf = (appId: string) => known.find((app) => app.appId === appId)?.id ?? 0
  const ids = APPS.map(({ appId }) => idOf(appId))
  const filler = idOf('1')
  await sql`select ensure_history_partitions(${days[0] ?? ''}, ${days.at(-1) ?? ''})`
  const rows = courses.flatMap((ofList, list) =>
    days.flatMap((day, n) => {
      const gap = gaps[list]?.[n] ?? null
      if (gap === NOTHING_DUE) return []
      const placed = gap === null ? placeApps(ofList, n) : []
      const app_ids = gap === null ? `{${Array.from(placed, (app) => ids[app ?? -1] ?? filler)}}` : null
      return [{ name: nameOf(list), day, gap: gap && gapOf(gap), app_ids }]
    }),
  )
  const column = (key: 'name' | 'day' | 'gap' | 'app_ids') => rows.map((row) => row[key])
  await sql`
    insert into ranking (target_id, slot, captured_at, gap, reason, depth, app_ids)
    select t.id, r.day, case when r.gap is null then r.day end, r.gap, ${sql.json(REASONS)}::jsonb ->> r.gap,
      ${DEPTH},
      r.app_ids::int[]
    from unnest(${column('name')}::text[], ${column('day')}::timestamptz[], ${column('gap')}::text[],
      ${column('app_ids')}::text[])
      r (name, day, gap, app_ids)
    join target t on t.subject = case when exists (select from target s where s.subject = r.name) then r.name
      else 'topselling_free' end`
  await sql`analyze`
}

/** The apps of a list on a day by rank: of two at one rank the second stands below. */
function placeApps(courses: readonly Course[], day: number): (number | undefined)[] {
  const placed: (number | undefined)[] = []
  const ranked = courses
    .map(({ app, points }) => ({ app, rank: points[day] ?? 0 }))
    .filter(({ rank }) => rank > 0)
    .toSorted((a, b) => a.rank - b.rank)
  for (const { app, rank } of ranked) placed[Math.max(rank - 1, placed.length)] = app
  return placed.slice(0, DEPTH)
}

/** On the evening of the last day. */
async function read({ setNowForAll }: Watchlist, db: Database, days: readonly string[]): Promise<Report> {
  await setNowForAll(`${days.at(-1)} 20:00+00`)
  return readReport(db, { project: 'fitness' })
}

/** With the names of the lists in place of those as which they were watched. */
function rename(report: Report, lists: readonly RankedList[]): Report {
  const named = new Map(lists.map(({ name }, n) => [nameOf(n), name]))
  const { reasons } = report.coverage
  return {
    ...report,
    lists: report.lists.map((list) => ({ ...list, name: named.get(list.name) ?? list.name })),
    coverage: {
      ...report.coverage,
      reasons: reasons.map((reason) => ({
        ...reason,
        examples: reason.examples.map((name) => named.get(name) ?? name),
      })),
    },
  }
}

const words = (text: string) => text.split(',')

const CHART: RankedList = {
  ...{ store: 'android_store', kind: 'chart', name: 'topselling_free, HEALTH_AND_FITNESS' },
  ...{ place: 'US', language: 'en', tags: ['charts'], weight: 1 },
}

function makeLists(count: number, random: () => number): RankedList[] {
  const first = words('yoga,pilates,meditation,stretching,sleep,workout,posture,breathing,calm,core')
  const second = words(',for beginners,at home,daily,for men,for seniors,timer,app,free,class')
  const third = words(',offline,with music,10 minutes,challenge,plan,tracker,morning,evening,kids')
  const names = third.flatMap((c) =>
    second.flatMap((b) => first.map((a) => [a, b, c].filter(Boolean).join(' '))),
  )
  const places = words('US en,US en,US en,DE de,JP ja').map((place) => place.split(' '))
  const charts: RankedList[] = count < 20 ? [] : [CHART]
  const keywords = Array.from({ length: count - charts.length }, (_, n): RankedList => {
    const [place = '', language = ''] = places[n % places.length] ?? []
    return {
      store: n % 10 === 9 ? 'android_store' : 'ios_store',
      kind: 'keyword',
      name: HOSTILE_NAMES[n - 5] ?? names[n % names.length] ?? '',
      place,
      language,
      tags: [...(random() < 0.15 ? ['brand'] : []), ...(random() < 0.3 ? ['core'] : [])],
      weight: 1 + (n % 7),
    }
  })
  return [...keywords, ...charts]
}

/** The gap of each day of a list; 0 while it is not watched, null where it is measured. */
function makeGaps(list: number, length: number, random: () => number): (Point | null)[] {
  const on = (share: number) => Math.floor(share * (length - 1))
  const gaps: (Point | null)[] = Array.from({ length }, () => {
    if (random() >= 0.004) return null
    return random() < 0.5 ? GAP_POINTS.failed : GAP_POINTS.missed
  })
  gaps[on(OUTAGE)] = GAP_POINTS.failed
  if (random() < 0.7) gaps[on(SHORT_OF_BUDGET)] = GAP_POINTS.budget
  gaps[on(1)] = list % 400 === 3 ? GAP_POINTS.budget : null
  return isAdded(list) ? gaps.fill(0, 0, on(ADDED)) : gaps
}

const isAdded = (list: number) => list % 20 === 7

function makeCourses(list: RankedList, gaps: readonly (Point | null)[], random: () => number): Course[] {
  return APPS.flatMap((app, n) => {
    if (app.store !== list.store) return []
    const noise = 0.5 + random() * 4
    const home = 1 + 140 * random() ** (app.role === 'own' ? 1.8 : 1.2)
    const isHit = random() < 0.25
    let rank = home
    const points = gaps.map((gap, day): Point => {
      const share = day / (gaps.length - 1)
      const aim = aimAt(home, { isOwn: app.role === 'own', isEntrant: n === 5, isHit, share })
      rank = Math.max(1, rank + (aim - rank) * 0.35 + (random() - 0.5) * noise * (1 + rank / 25))
      if (gap !== null) return gap
      return rank > DEPTH ? notInTop(DEPTH) : Math.round(rank)
    })
    return [{ app: n, points }]
  })
}

function aimAt(
  home: number,
  { isOwn, isEntrant, isHit, share }: { isOwn: boolean; isEntrant: boolean; isHit: boolean; share: number },
): number {
  if (isEntrant) return share < ADDED ? 170 : home * 0.5
  if (!isOwn) return home
  const helped = share > RELEASE ? home * 0.7 : home
  return isHit && share > DROP ? helped * 3 + 12 : helped
}

function makeChanges(at: (share: number) => string): Report['changes'] {
  const long = 'Yoga for everyone, every day. '.repeat(60)
  const image = (n: number) => `"https://img.example/${n}.png"`
  const changes = [
    [RELEASE, 0, 'version', '4.1.0', '4.2.0'],
    [RELEASE, 0, 'title', 'Ashlune: Yoga', 'Ashlune: Yoga for Everyone'],
    [RELEASE, 0, 'description', long, `${long}Now with <b>pilates</b>.`],
    [0.55, 5, 'images', `[${image(1)}]`, `[${image(1)},${image(2)}]`],
    [0.62, 2, 'version', '9.9', '10.0 </script>'],
    [RELEASE, 0, 'update_notes', 'Calmer.', 'Pilates, and a quieter bell.'],
    [0.9, 3, 'price', '4.99', '0'],
  ] as const
  return changes.map(([share, app, field, before, after]) => {
    return { day: at(share), app, place: 'US', field, before, after }
  })
}

function makeRatings(
  days: readonly string[],
  random: () => number,
): Pick<Report, 'ratings' | 'reviewCounts' | 'lowReviews'> {
  const ratings = [0, 2, 3].map((app) => {
    let votes = Math.floor(2000 + random() * 90_000)
    let stars = 4 + random() * 0.7
    const rows = days.map((_, day) => {
      votes += Math.floor(random() * 60)
      stars += (random() - 0.5) * 0.02
      return day === Math.floor(OUTAGE * (days.length - 1))
        ? null
        : { rating: Math.round(stars * 100) / 100, votes, reviews: Math.floor(votes / 9) }
    })
    return {
      app,
      place: 'US',
      rating: rows.map((row) => row?.rating ?? null),
      votes: rows.map((row) => row?.votes ?? null),
      reviews: rows.map((row) => row?.reviews ?? null),
    }
  })
  const lowReviews = Array.from({ length: 8 }, (_, n) => ({
    day: days[days.length - 1 - n * 3] ?? days[0] ?? '',
    times: n === 3 ? 12 : 1,
    app: n % 2 === 0 ? 0 : 2,
    place: 'US',
    stars: 1 + (n % 2),
    title: n === 0 ? '<b>Crashes</b> & burns' : 'It stopped working',
    text: 'Since the last update the timer no longer rings. '.repeat(1 + (n % 3)),
    author: n === 1 ? null : `reader ${n}`,
    version: '4.2.0',
    response: n === 2 ? 'We are sorry: 4.2.1 mends it.' : null,
  }))
  return {
    ratings,
    reviewCounts: [
      { app: 0, stars: [12, 7, 9, 31, 120] },
      { app: 2, stars: [30, 11, 22, 41, 260] },
    ],
    lowReviews,
  }
}

const REASONS: Readonly<Partial<Record<Gap, string>>> = {
  failed: '40102: No Search Results.',
  budget: 'The budget of the project was used up.',
}
