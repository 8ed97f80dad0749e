/** A month lived through by the real jobs against a sandbox of its own. */
import { rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type Database, openDatabase } from '../../db/database.ts'
import { migrate } from '../../db/migrate.ts'
import { oneRow } from '../../db/one-row.ts'
import { liveThrough } from '../../demo/month.ts'
import { EVENTS, MONTH_DAYS, type StoryDay, tellStory, tellWhat } from '../../demo/story.ts'
import { claimDatabaseFor, recordOrigin } from '../../ledger/restored.ts'
import { writeReports } from '../../report/write-reports.ts'
import { STORES_AS_SOLD } from '../../service/dialect.ts'
import { formatUsd } from '../../text/money.ts'
import { formatCount } from '../../text/words.ts'
import { type CommandContext, command, flag, option, usually } from '../command.ts'
import { makeInFolder, show } from '../demo-folder.ts'
import { heading, type Part, verbatim } from '../document.ts'
import { wholeNumber } from '../option-values.ts'
import { createProgress, type Progress } from '../progress.ts'
import { startPrivateSandbox } from '../sandbox-process.ts'
import { nameCommand, warn } from '../tell.ts'

/** Deliveries need no account that others use, so the limits of one are out of the way. */
const SANDBOX = { port: 0, readyMs: 0, balanceUsd: 1000, events: [...EVENTS] }
const BAR_CELLS = 30

export const demo = command({
  group: 'Set up',
  summary: 'live through a month on a database and a sandbox of its own, and write its report',
  options: {
    folder: option('<folder>', 'where it lives (default: .storerank-demo)'),
    seed: usually(1, option('<number>', 'the same seed gives the same month', wholeNumber(0, 2 ** 31 - 1))),
    days: usually(MONTH_DAYS, option('<number>', 'only its first days', wholeNumber(1, MONTH_DAYS))),
    asSold: flag('against the service as it is sold, instead of its specification'),
  },
  examples: ['storerank demo --seed 7'],
  run: async ({ folder: given, seed, days, asSold }, caller) => {
    // The trouble of the story belongs to it, and is no news to the person at the terminal.
    const isTold = caller.log.level === 'info' || caller.log.level === 'warn'
    const context = isTold ? { ...caller, log: caller.log.child({}, { level: 'error' }) } : caller
    const folder = resolve(given ?? `${caller.config.home}-demo`)
    const story = tellStory(days)
    const progress = createProgress(caller)
    const began = performance.now()
    progress.phase('making a database')
    try {
      const summary = await makeInFolder(folder, async (url, wasInterrupted) => {
        if (wasInterrupted) progress.done('an earlier demo was interrupted here; it begins anew')
        await live(url, folder, { seed, asSold }, story, context, progress)
        return writePages(url, folder, caller.signal)
      })
      progress.done(`a month in ${Math.round((performance.now() - began) / 1000)} s`)
      return { parts: describeDemo({ ...summary, folder: show(folder), days: story.map(({ day }) => day) }) }
    } finally {
      progress.stop()
      if (caller.signal.aborted) warn(caller, 'Stopped. What was made of the demo is removed.')
    }
  },
})

async function live(
  url: string,
  folder: string,
  { seed, asSold }: { readonly seed: number; readonly asSold: boolean },
  story: readonly StoryDay[],
  { config, log, signal }: CommandContext,
  progress: Progress,
): Promise<void> {
  await migrate(url)
  const db = openDatabase(url, { maxConnections: 1 })
  await claimDatabaseFor(db, 'the sandbox').finally(() => db.close())
  const sandbox = await startPrivateSandbox(folder, { ...SANDBOX, seed, asSold })
  const named = asSold ? { ...sandbox, stores: STORES_AS_SOLD } : sandbox
  const settings = { ...config, reports: null }
  try {
    progress.phase('living through the month')
    await liveThrough({ url, sandbox: named, settings, log, signal }, story, (index) => {
      const done = Math.round((BAR_CELLS * index) / story.length)
      const bar = `${'█'.repeat(done)}${'░'.repeat(BAR_CELLS - done)}`
      const day = story[index]?.day ?? ''
      progress.update(`${bar} ${day}`, { day, of: story.length })
    })
  } finally {
    await sandbox.dispose()
  }
}

/** Written anew: the pages of an earlier demo say something else, and may be of the same slots. */
async function writePages(url: string, folder: string, signal: AbortSignal) {
  const pages = join(folder, 'reports')
  await rm(pages, { recursive: true, force: true })
  const db = openDatabase(url)
  try {
    // From here on the database is worked with by other commands, at another place of its own.
    await recordOrigin(db.sql)
    await writeReports(db, { folder: pages, title: null, logo: null }, signal)
    return await readDemo(db)
  } finally {
    await db.close()
  }
}

async function readDemo({ sql }: Database) {
  const total = oneRow(
    await sql<{ measured: number; spentMicros: number }[]>`
    select (select count(*) from ranking_row where gap is null) + (select count(*) from app_snapshot
      where gap is null) as measured,
      (select coalesce(sum(amount_micros), 0)::bigint from charge) as "spentMicros"`,
  )
  /** Slots without a measurement, by day and reason. */
  const gaps = await sql<{ day: string; gap: string; slots: number }[]>`
    select to_char(slot, 'FMDD Mon') as day, gap, count(*) as slots
    from (select slot, gap from ranking_row union all select slot, gap from app_snapshot) h
      where gap is not null
    group by slot, 1, 2 order by slot, 2`
  return { ...total, gaps }
}

/** The queries that a person may try first; each has an answer in a whole demo. */
export const TRY_NEXT: readonly (readonly [question: string, command: string])[] = [
  [
    'Where does the yoga app stand?',
    `sql "select day, rank, outcome from rank_history where app_id = '1480010017' and keyword = 'yoga' ` +
      `and location_code = 2840 order by slot"`,
  ],
  [
    'Which keywords fell most in the last week?',
    `sql "select keyword, store, rank_before, rank_after from movers('fitness', '2026-09-23', ` +
      `'2026-09-30') where role = 'own' and change < 0 order by change, keyword limit 5"`,
  ],
  [
    'Who overtook us?',
    `sql "select day, keyword, competitor_label, own_rank, competitor_rank from overtakes('fitness', ` +
      `'2026-08-31', '2026-09-30') where overtaken_by = 'competitor' order by day, keyword"`,
  ],
  [
    'What is missing, and why?',
    `sql "select day, gap, reason, sum(slots) as slots from gap_reasons('fitness', '2026-08-31', ` +
      `'2026-09-30') group by 1, 2, 3 order by 1, 2, 3"`,
  ],
  [
    'What were you told of?',
    `sql "select day, rule, keyword, app, before, after from alert_history where rule <> ` +
      `'not measured' order by slot, rule, keyword"`,
  ],
  ['What did it cost?', 'sql "select project, sum(spent_usd) as usd from spend_daily group by 1 order by 1"'],
  ['What else could we watch?', 'discover --project fitness --country US --limit 8'],
  ['The latest day, in the terminal:', 'report --project fitness'],
]

function describeDemo({
  days,
  folder,
  ...demo
}: Awaited<ReturnType<typeof readDemo>> & {
  readonly folder: string
  readonly days: readonly string[]
}): Part[] {
  const bought = `${formatCount(demo.measured)} measurements for ${formatUsd(demo.spentMicros)}`
  const gaps = demo.gaps.map(({ day, gap, slots }) => `${formatCount(slots)} on ${day} (${gap})`)
  const told = tellWhat(days)
  const pages = ['fitness', 'learning'].map((project) =>
    pathToFileURL(resolve(join(folder, 'reports', `${project}.html`))),
  )
  return [
    heading(`${days.length} days, ${days[0]} to ${days.at(-1)}: ${bought}.`),
    gaps.length > 0 && `Not measured: ${gaps.join(', ')}.`,
    told.length > 0 && heading('What happened, which the pages show:'),
    told.map((each) => `  ${each}`),
    heading('Open in a browser:'),
    pages.map(({ href }) => verbatim(`  ${href}`)),
    heading(
      'Ask the database, for which it is still the evening of the last day ' +
        '(docs/questions.md has many more):',
    ),
    verbatim(`  export STORERANK_HOME=${folder}`),
    TRY_NEXT.map(([question, command]) => verbatim(`  # ${question}\n  ${nameCommand()} ${command}`)),
    heading(
      'It used a database and a sandbox of its own: apps, ranks and money are invented. ' +
        '`npm run demo` makes it anew.',
    ),
  ]
}
