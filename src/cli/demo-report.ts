/** What a demo says at its end: what happened in its month, where the pages are, and what to try next. */
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Database } from '../db/database.ts'
import { tellWhat } from '../demo/story.ts'
import { formatUsd } from '../text/money.ts'
import { formatCount } from '../text/words.ts'
import { heading, type Part, verbatim } from './document.ts'
import { nameCommand } from './tell.ts'

export interface DemoSummary {
  readonly measured: number
  readonly spentMicros: number
  /** Slots without a measurement, by day and reason. */
  readonly gaps: readonly { readonly day: string; readonly gap: string; readonly slots: number }[]
}

export async function readDemo({ sql }: Database): Promise<DemoSummary> {
  const [total] = await sql<{ measured: number; spentMicros: number }[]>`
    select (select count(*) from ranking_row where gap is null) + (select count(*) from app_snapshot
      where gap is null) as measured,
      (select coalesce(sum(amount_micros), 0)::bigint from charge) as "spentMicros"`
  const gaps = await sql<DemoSummary['gaps'][number][]>`
    select to_char(slot, 'FMDD Mon') as day, gap, count(*) as slots
    from (select slot, gap from ranking_row union all select slot, gap from app_snapshot) h
      where gap is not null
    group by slot, 1, 2 order by slot, 2`
  return { measured: 0, spentMicros: 0, ...total, gaps }
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

export function describeDemo({
  days,
  folder,
  ...demo
}: DemoSummary & { readonly folder: string; readonly days: readonly string[] }): Part[] {
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
