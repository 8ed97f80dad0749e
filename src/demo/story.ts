/**
 * What happens in the month of the demo, day by day: in the stores, at the service, and what the people of
 * the project do. Days of the same number are the same in every run.
 */
import type { Database } from '../db/database.ts'
import type { StoreEventInput } from '../sandbox/events.ts'
import type { FaultSettingsInput } from '../sandbox/faults.ts'
import { importWatches } from '../watch/import.ts'
import { ADDED_CSV, ALERTS_CSV, APPS_CSV, CHARTS_CSV, ENTRANT_CSV, KEYWORDS_CSV } from './watchlist.ts'

/** Thirty days, and the one before them for a change over 30 days. No change of summer time is in them. */
const FIRST_DAY = '2026-08-31'
export const MONTH_DAYS = 31

const ASHLUNE = '1480010017'
const SLOWBARROW = '1480010041'

/** What happens in the stores. */
export const EVENTS: readonly StoreEventInput[] = [
  {
    day: '2026-09-09',
    store: 'ios_store',
    appId: ASHLUNE,
    version: '3.2.0',
    title: 'Ashlune: Yoga & Pilates',
    updateNotes: 'New: 40 classes of pilates, from the wall to the reformer.',
    description:
      'Yoga and now pilates, for everyone.\n• 340 classes, 40 of them pilates\n• Works offline\n• No ' +
      'account needed',
    places: -6,
    words: ['pilates', 'stretch'],
    overDays: 4,
  },
  { day: '2026-09-11', store: 'ios_store', appId: SLOWBARROW, launch: true },
  {
    day: '2026-09-12',
    store: 'ios_store',
    appId: SLOWBARROW,
    places: -62,
    words: ['yoga', 'fitness'],
    overDays: 7,
  },
  { day: '2026-09-11', store: 'android_store', appId: 'com.slowbarrow.fitnessdiary', launch: true },
  {
    day: '2026-09-12',
    store: 'android_store',
    appId: 'com.slowbarrow.fitnessdiary',
    places: -70,
    words: ['yoga'],
    overDays: 9,
  },
  { day: '2026-09-14', store: 'ios_store', appId: '1480010082', paid: true, words: ['numberwren'] },
  {
    day: '2026-09-16',
    store: 'ios_store',
    appId: '1480010025',
    version: '2.5.0',
    title: 'Stilmora – Meditation & Sleep',
    updateNotes: 'Sleep stories, read by people whom you know.',
    places: -2,
  },
  {
    day: '2026-09-23',
    store: 'ios_store',
    appId: ASHLUNE,
    version: '3.3.0',
    updateNotes: 'Faster start, new widgets.',
    places: 22,
    words: ['yoga'],
    overDays: 4,
    stars: -3,
  },
  {
    day: '2026-09-24',
    store: 'ios_store',
    appId: ASHLUNE,
    places: 31,
    words: ['chair', 'prenatal'],
    overDays: 3,
  },
  { day: '2026-09-26', store: 'android_store', appId: '*', shuffle: 0.4 },
  {
    day: '2026-09-28',
    store: 'ios_store',
    appId: ASHLUNE,
    version: '3.3.1',
    updateNotes: 'Mends the crash at the start. We are sorry.',
    places: -9,
    words: ['yoga'],
    overDays: 3,
    stars: 3,
  },
]

/** What the people of the projects do on a day, before the jobs of the day run. */
const ACTIONS: Readonly<Record<string, (db: Database) => Promise<unknown>>> = {
  [FIRST_DAY]: async (db) => {
    for (const csv of [KEYWORDS_CSV, APPS_CSV, CHARTS_CSV, ALERTS_CSV]) await addWatches(db, csv)
    await db.sql`update project set timezone = 'Europe/Berlin', daily_usd = 0.1, monthly_usd = 3
      where name = 'fitness'`
  },
  '2026-09-05': (db) => note(db, '2026-09-05', 'Search ads begin', null),
  '2026-09-11': (db) => addWatches(db, ENTRANT_CSV),
  '2026-09-15': (db) => note(db, '2026-09-15', 'The service is out of order all day', null),
  '2026-09-17': async (db) => {
    await addWatches(db, ADDED_CSV)
    await note(db, '2026-09-17', 'Three keywords for the autumn are added', null)
  },
  '2026-09-20': (db) => db.sql`update project set daily_usd = 0.03 where name = 'fitness'`,
  '2026-09-21': async (db) => {
    await db.sql`update project set daily_usd = 0.1 where name = 'fitness'`
    await note(db, '2026-09-20', 'The budget was 0.03 dollars by mistake', null)
  },
  '2026-09-25': (db) => note(db, '2026-09-23', '3.3.0 crashes at the start on older phones', ASHLUNE),
}

/** The story in a line for each day on which something happens. */
const LINES: readonly (readonly [day: string, text: string])[] = [
  ['2026-09-05', 'search ads begin (a note)'],
  ['2026-09-09', 'Ashlune, the own app, releases 3.2.0: classes of pilates'],
  ['2026-09-11', 'Slowbarrow enters the stores, and climbs'],
  ['2026-09-14', 'Kotobrook, a competitor of the second project, advertises on its brand'],
  ['2026-09-15', 'the service is out of order all day'],
  ['2026-09-17', 'three keywords are added'],
  ['2026-09-20', 'the budget of the project is too small for a day'],
  ['2026-09-23', 'Ashlune 3.3.0 crashes at the start: bad reviews, and ranks fall'],
  ['2026-09-26', 'the Android store ranks by other rules: everybody moves'],
  ['2026-09-28', 'Ashlune 3.3.1 mends it'],
]

/** What happened on these days, for a person. */
export function tellWhat(days: readonly string[]): string[] {
  return LINES.filter(([day]) => days.includes(day)).map(([day, text]) => `${day}  ${text}`)
}

/** The state of the service on a day; on all others it is well. */
const TROUBLE: Readonly<Record<string, FaultSettingsInput>> = {
  '2026-09-15': { status: { task_post: 'major_outage' }, http500: { path: 'task_post', when: 'before' } },
}

export interface StoryDay {
  /** `2026-09-12` */
  readonly day: string
  /** What ails the service. */
  readonly trouble: FaultSettingsInput
  /** Whether the service is in another state than the day before. */
  readonly turns: boolean
  act(db: Database): Promise<unknown>
}

/** The first days of the month. */
export function tellStory(days: number): StoryDay[] {
  return Array.from({ length: days }, (_, index) => {
    const day = addDays(FIRST_DAY, index)
    return {
      day,
      trouble: TROUBLE[day] ?? {},
      turns: TROUBLE[day] !== TROUBLE[addDays(day, -1)],
      act: ACTIONS[day] ?? (async () => {}),
    }
  })
}

function addDays(day: string, days: number): string {
  return new Date(Date.parse(day) + days * 86_400_000).toISOString().slice(0, 10)
}

async function addWatches(db: Database, csv: string): Promise<void> {
  const { refused } = await importWatches(db, csv)
  if (refused.length > 0) throw new Error(`A row of the demo was refused: ${refused[0]?.reason}`)
}

async function note(db: Database, day: string, text: string, appId: string | null): Promise<void> {
  await db.sql`insert into annotation (project, day, app_id, text)
    values ('fitness', ${day}, ${appId}, ${text})`
}
