/**
 * A report of an invented project, the same for the same seed: a release that helps, a drop, a rival that comes in, one day
 * without the service, one day short of budget, keywords added in the middle, and text that would break a careless page.
 */
import {
  byGap,
  GAP_POINTS,
  GAPS,
  type Gap,
  type GapReason,
  gapOf,
  isMeasured,
  isRanked,
  notInTop,
  type Point,
  type RankedList,
  type RankSeries,
  type Report,
  type ReportedApp,
  type VoiceShare,
} from '../../src/report/model.ts'
import { createRandom } from './random.ts'
import { spend } from './report-money.ts'

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
  'a very long keyword that somebody pasted from a sentence and that does not end where one would expect it to end at all',
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

export function makeReport(shape: Shape): Report {
  const random = createRandom(shape.seed).next
  const days = Array.from({ length: shape.days }, (_, n) =>
    new Date(Date.UTC(2026, 0, 1 + n)).toISOString().slice(0, 10),
  )
  const lists = makeLists(shape.keywords, random)
  const gaps = lists.map((_, list) => makeGaps(list, days.length, random))
  const series = lists.flatMap((list, n) => makeSeriesOfList(list, n, gaps[n] ?? [], random))
  const at = (share: number) => days[Math.floor(share * (days.length - 1))] ?? ''
  return {
    project: 'fitness',
    timezone: 'Europe/Berlin',
    tag: null,
    writtenAt: `${days.at(-1)}T06:12:00Z`,
    days,
    apps: APPS,
    lists,
    series,
    visibility: APPS.map((_, app) => seeVisibility(app, series, days.length)),
    shareOfVoice: shareVoice(series, days.length),
    changes: makeChanges(at),
    annotations: [
      { day: at(OUTAGE), app: null, text: 'The store was down for hours' },
      { day: at(0.6), app: 0, text: 'Spring campaign <b>begins</b>' },
    ],
    ...makeRatings(days, random),
    coverage: cover(days, lists, gaps),
    money: spend(days, gaps),
  }
}

function makeLists(count: number, random: () => number): RankedList[] {
  const first = [
    'yoga',
    'pilates',
    'meditation',
    'stretching',
    'sleep',
    'workout',
    'posture',
    'breathing',
    'calm',
    'core',
  ]
  const second = [
    '',
    'for beginners',
    'at home',
    'daily',
    'for men',
    'for seniors',
    'timer',
    'app',
    'free',
    'class',
  ]
  const third = [
    '',
    'offline',
    'with music',
    '10 minutes',
    'challenge',
    'plan',
    'tracker',
    'morning',
    'evening',
    'kids',
  ]
  const names = third.flatMap((c) =>
    second.flatMap((b) => first.map((a) => [a, b, c].filter(Boolean).join(' '))),
  )
  const places = [
    ['US', 'en'],
    ['US', 'en'],
    ['US', 'en'],
    ['DE', 'de'],
    ['JP', 'ja'],
  ] as const
  const charts: RankedList[] =
    count < 20
      ? []
      : [
          {
            store: 'android_store',
            kind: 'chart',
            name: 'topselling_free, HEALTH_AND_FITNESS',
            place: 'US',
            language: 'en',
            tags: ['charts'],
            weight: 1,
          },
        ]
  const keywords = Array.from({ length: count - charts.length }, (_, n): RankedList => {
    const [place, language] = places[n % places.length] ?? places[0]
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
  return list % 20 === 7 ? gaps.fill(0, 0, on(ADDED)) : gaps
}

function makeSeriesOfList(
  list: RankedList,
  index: number,
  gaps: readonly (Point | null)[],
  random: () => number,
): RankSeries[] {
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
    return [
      { list: index, app: n, points, past: [points.at(-2) ?? 0, points.at(-8) ?? 0, points.at(-31) ?? 0] },
    ]
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

function seeVisibility(app: number, series: readonly RankSeries[], length: number) {
  const own = series.filter((one) => one.app === app)
  const percent: (number | null)[] = []
  const measuredPercent: (number | null)[] = []
  for (let day = 0; day < length; day++) {
    const points = own.map(({ points }) => points[day] ?? 0).filter((point) => point !== 0)
    const measured = points.filter(isMeasured)
    const sum = measured.reduce((total, point) => total + (isRanked(point) ? 1 / point : 0), 0)
    percent.push(measured.length === 0 ? null : (100 * sum) / measured.length)
    measuredPercent.push(points.length === 0 ? null : (100 * measured.length) / points.length)
  }
  return { app, percent, measuredPercent }
}

/** The same in each store: what is measured on a day, and the sum of 1/rank of each app. */
function shareVoice(series: readonly RankSeries[], length: number): VoiceShare[] {
  const everybody = Array.from({ length: DEPTH }, (_, n) => 1 / (n + 1)).reduce((sum, weight) => sum + weight)
  const days = [...Array(length).keys()]
  return (['ios_store', 'android_store'] as const).flatMap((store) => {
    const known = series.filter(({ app }) => APPS[app]?.store === store)
    const lists = days.map(
      (day) =>
        new Set(known.filter(({ points }) => isMeasured(points[day] ?? 0)).map(({ list }) => list)).size,
    )
    const share = (of: readonly RankSeries[]) =>
      days.map((day) => {
        const worth = of.reduce((sum, { points }) => sum + Math.max(0, 1 / (points[day] || -1)), 0)
        return lists[day] === 0 ? null : (100 * worth) / ((lists[day] ?? 1) * everybody)
      })
    const apps = [...APPS.keys()].filter((app) => APPS[app]?.store === store)
    const rest = share(known).map((percent) => (percent === null ? null : 100 - percent))
    const shares = apps.map((app) => ({ store, app, percent: share(known.filter((one) => one.app === app)) }))
    return [...shares, { store, app: null, percent: rest }]
  })
}

function makeChanges(at: (share: number) => string): Report['changes'] {
  const long = 'Yoga for everyone, every day. '.repeat(60)
  return [
    { day: at(RELEASE), app: 0, place: 'US', field: 'version', before: '4.1.0', after: '4.2.0' },
    {
      day: at(RELEASE),
      app: 0,
      place: 'US',
      field: 'title',
      before: 'Ashlune: Yoga',
      after: 'Ashlune: Yoga for Everyone',
    },
    {
      day: at(RELEASE),
      app: 0,
      place: 'US',
      field: 'description',
      before: long,
      after: `${long}Now with <b>pilates</b>.`,
    },
    {
      day: at(0.55),
      app: 5,
      place: 'US',
      field: 'images',
      before: '["https://img.example/1.png"]',
      after: '["https://img.example/1.png","https://img.example/2.png"]',
    },
    { day: at(0.62), app: 2, place: 'US', field: 'version', before: '9.9', after: '10.0 </script>' },
    { day: at(0.9), app: 3, place: 'US', field: 'price', before: '4.99', after: '0' },
  ]
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

function cover(
  days: readonly string[],
  lists: readonly RankedList[],
  gaps: readonly (readonly (Point | null)[])[],
): Report['coverage'] {
  const count = (matches: (gap: Point | null) => boolean) =>
    days.map((_, day) => gaps.filter((row) => matches(row[day] ?? null)).length)
  const reasons = days.flatMap((day, n) =>
    GAPS.flatMap((gap): GapReason[] => {
      const named = lists.filter((_, list) => gapOf(gaps[list]?.[n] ?? 0) === gap)
      if (named.length === 0) return []
      return [
        {
          day,
          gap,
          reason: REASONS[gap] ?? null,
          slots: named.length,
          examples: named.slice(0, 3).map(({ name }) => name),
        },
      ]
    }),
  )
  return {
    measured: count((gap) => gap === null),
    gaps: byGap((gap) => count((point) => gapOf(point ?? 0) === gap)),
    reasons: reasons.toSorted(
      (a, b) => Number(b.day === days.at(-1)) - Number(a.day === days.at(-1)) || b.slots - a.slots,
    ),
  }
}

const REASONS: Readonly<Partial<Record<Gap, string>>> = {
  failed: '40102: No Search Results.',
  budget: 'The budget of the project was used up.',
}
