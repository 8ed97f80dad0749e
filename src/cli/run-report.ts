/** What a run says at its end: ranks, money, and where to look next. Numbers come from the database alone. */
import { describeOutage } from '../account/service-status.ts'
import type { Config } from '../config.ts'
import type { Database } from '../db/database.ts'
import { formatInstant } from '../instant.ts'
import type { CycleResult, Outstanding } from '../queue/cycle.ts'
import type { Runner } from '../queue/runner.ts'
import {
  countBudgetCuts,
  readBudgets,
  readPaidSince,
  readSpentByFunction,
  readSpentSince,
} from '../report/money.ts'
import { type RankLine, readLatestRanks, readNextDue, readProblems } from '../report/status.ts'
import { formatChange } from '../report/summary.ts'
import type { ServiceFunction } from '../service/functions.ts'
import { formatUsd } from '../text/money.ts'
import { countOf, formatCount } from '../text/words.ts'
import { heading, more, type Part, table, verbatim } from './document.ts'
import { nameCommand } from './tell.ts'
import type { WorkSession } from './work-session.ts'

/** What a person takes in at a glance; the rest is a query away. */
const RANKS_SHOWN = 40
const PROBLEMS_SHOWN = 5
const EXAMPLE =
  'insert into keyword_watch (project, store, keyword, location_code, language_code) ' +
  "values ('fitness', 'ios_store', 'your keyword', 2840, 'en')"

/** @param began the business time at which the run began */
export async function describeRun(
  session: WorkSession,
  result: CycleResult,
  began: Date,
  { budget }: Config,
): Promise<Part[]> {
  const { db } = session
  return [
    await describeRanks(db),
    await describeSpending(db, result, began),
    await describeBudgets(db, result, budget),
    await describeProblems(db),
    describeWhereNext(session),
  ]
}

/** The same in a line, for whoever reads a hundred of them. */
export async function describeBriefly(
  { db }: WorkSession,
  { progress }: Pick<Runner, 'progress'>,
  began: Date,
): Promise<string> {
  const done = describeWork({ ...progress, ...(await readPaidSince(db, began)) })
  const next = await readNextDue(db)
  const problems = await readProblems(db, 1)
  const sentences = [
    `Done: ${done || 'nothing was due'}.`,
    next !== null && describeNext(next),
    problems.total > 0 && `${countProblems(problems)}: storerank status.`,
  ]
  return sentences.filter(Boolean).join(' ')
}

function describeNext(slot: Date): string {
  return `The next slot begins at ${formatInstant(slot)}.`
}

function countProblems({ total, isMore }: { readonly total: number; readonly isMore: boolean }): string {
  return `${isMore ? 'At least ' : ''}${countOf(total, 'problem')}`
}

/** `stored 312 results, posted 5 measurements of 4 projects, $0.31` */
export function describeWork({ stored, posted, projects, micros }: Work): string {
  const parts = [
    ...(stored > 0 ? [`stored ${countOf(stored, 'result')}`] : []),
    ...(posted > 0 ? [`posted ${countOf(posted, 'measurement')}`] : []),
  ]
  const paid = micros === 0 ? '' : ` of ${countOf(projects, 'project')}, ${formatUsd(micros)}`
  return `${parts.join(', ')}${paid}`
}

interface Work {
  readonly stored: number
  readonly posted: number
  /** Projects that paid for something, and what they paid, over all runners. */
  readonly projects: number
  readonly micros: number
}

async function describeRanks(db: Database): Promise<Part> {
  const { lines, total } = await readLatestRanks(db, RANKS_SHOWN)
  if (total === 0)
    return (
      'There is no rank yet: it takes a keyword or a chart that was measured, and an app of the same ' +
      'project and store.'
    )
  const ofRole = (title: string, isOwn: boolean) =>
    describeTable(
      title,
      lines.filter(({ role }) => (role === 'own') === isOwn),
    )
  return [
    ofRole('Own apps', true),
    ofRole('Competitors', false),
    more(total - lines.length, ': select * from rank_latest;'),
    'rank "> 100": measured, and not among the first 100; "not in 53": the store has no more results; ' +
      'change: against the day before, in and out: of the ranks that were looked at; ' +
      'out of: results in the store.',
    '',
  ]
}

function describeTable(title: string, lines: readonly RankLine[]): Part {
  if (lines.length === 0) return null
  const rows = lines.map((each) => ({
    project: each.project,
    app: each.app,
    keyword: each.keyword,
    store: `${each.store === 'ios_store' ? 'iOS' : 'Android'} ${each.location}`,
    rank: describeRank(each),
    change: formatChange(each, ['▲ ', '▼ ']),
    'out of': each.results,
  }))
  return [heading(title), table(rows, { right: ['rank', 'change', 'out of'] })]
}

function describeRank(line: RankLine): string {
  if (line.rank !== null) return String(line.rank)
  if (line.outcome !== 'not_in_top') return line.outcome
  const isWholeStore = line.results !== null && line.depth !== null && line.results < line.depth
  return isWholeStore ? `not in ${line.results}` : `> ${line.depth}`
}

async function describeSpending(db: Database, result: CycleResult, began: Date): Promise<Part> {
  const spent = await readSpentSince(db, began)
  if (spent.tasks === 0) return explainNothing(db, result)
  const { chargedMicros, duplicateMicros, adjustedMicros, refundedMicros } = spent
  const net = chargedMicros + duplicateMicros + adjustedMicros - refundedMicros
  const refund =
    refundedMicros > 0
      ? `: charged ${formatUsd(chargedMicros)}, refunded ${formatUsd(refundedMicros)} ` +
        'for results that the stores did not have'
      : ''
  const bought = await readSpentByFunction(db, began)
  return [
    `Spent ${formatUsd(net)} on ${countOf(spent.tasks, 'measurement')} since this run began${refund}.`,
    bought.length > 1 &&
      bought.map(
        ({ function: fn, tasks, netMicros }) =>
          `  ${formatUsd(netMicros)} on ${countOf(tasks, ...FUNCTION_NAMES[fn])}`,
      ),
  ]
}

async function explainNothing(db: Database, { refusal, outstanding }: CycleResult): Promise<string> {
  const cut = await countBudgetCuts(db)
  if (cut > 0)
    return `Bought nothing: the budget does not reach the ${formatCount(cut)} measurements that are due.`
  if (refusal !== null || outstanding.outage !== null) return 'Bought nothing.'
  const next = await readNextDue(db)
  if (next === null) return 'Bought nothing: nothing is watched.'
  return `Bought nothing: everything due is measured or under way. ${describeNext(next)}`
}

async function describeBudgets(db: Database, { plan }: CycleResult, budget: Config['budget']): Promise<Part> {
  const lines = await readBudgets(db, budget)
  const left = lines.map(({ budget: name, limitMicros, usedMicros, warning }) => [
    `  left of ${name}: ${formatUsd(limitMicros - usedMicros)} of ${formatUsd(limitMicros)}`,
    warning !== null && `    ${warning}`,
  ])
  if (budget.maxRunMicros === null) return left
  const reserved = formatUsd(Number(plan.plannedMicros ?? 0))
  return [left, `  reserved by this run: ${reserved} of MAX_USD_PER_RUN ${formatUsd(budget.maxRunMicros)}`]
}

/** One, and several. */
const FUNCTION_NAMES: Readonly<Record<ServiceFunction, readonly [string, string]>> = {
  app_searches: ['search', 'searches'],
  app_info: ['page of an app', 'pages of apps'],
  app_list: ['chart', 'charts'],
  app_reviews: ['list of reviews', 'lists of reviews'],
}

async function describeProblems(db: Database): Promise<Part> {
  const problems = await readProblems(db, PROBLEMS_SHOWN)
  if (problems.total === 0) return null
  return [
    heading(`${countProblems(problems)}. Details: ${nameCommand()} status`),
    problems.lines.map(({ about, message }) => `  ${about}: ${message}`),
  ]
}

function describeWhereNext({ embedded, sandboxUrl }: WorkSession): Part {
  return [
    heading('Look further:'),
    verbatim(`  ${nameCommand()} sql "select outcome, count(*) from rank_history group by 1"`),
    'Watch another keyword:',
    verbatim(`  ${nameCommand()} sql "${EXAMPLE}"`),
    embedded !== null && [
      'Any client connects while `npm start` runs:',
      verbatim(`  psql "${embedded.psqlUrl}"`),
    ],
    (embedded ?? sandboxUrl) !== null && '',
    embedded !== null &&
      'This used the EMBEDDED DATABASE. DATABASE_URL replaces it with your own Postgres (15 or later), and ' +
        `\`${nameCommand()} move\` brings there what is here.`,
    sandboxUrl !== null &&
      'This used the SANDBOX: apps, ranks and money are invented. APP_DATA_URL (with APP_DATA_LOGIN and ' +
        'APP_DATA_PASSWORD) replaces it with your account. The sandbox stays for ten minutes after ' +
        'the last command, and goes on where it was when it is started again.',
  ]
}

/** What a run that ended still waits for; null when nothing is outstanding. */
export function describeWaiting(outstanding: Outstanding): string | null {
  const { planned, posting, posted, unknownPosts, waitsUntil, waiting, nextAttemptAt } = outstanding
  const released =
    waitsUntil === null ? 'after the next scans' : `at ${formatInstant(waitsUntil)} at the earliest`
  const unknown =
    `${formatCount(posting)} tasks of ${formatCount(unknownPosts)} posts are unknown, as the answer was ` +
    `lost: they are looked for at the service, and released ${released}, unless found`
  const unrecorded =
    `${formatCount(posting)} tasks were sent, and their answer is not recorded yet: ` +
    'the next run records it, or looks for them at the service'
  const parts = [
    planned > 0 ? `${formatCount(planned)} tasks are planned and not posted` : null,
    waiting > 0 ? `${describeAttempts(waiting, nextAttemptAt)}; a run after that posts them` : null,
    posted > 0
      ? `${formatCount(posted)} tasks are paid for and not yet collected; the next run collects them`
      : null,
    // A post whose ids are doubted has none.
    posting === 0 ? null : unknownPosts > 0 ? unknown : unrecorded,
  ].filter((part) => part !== null)
  return parts.length === 0 ? null : `${parts.join('; ')}.`
}

/** Why what is planned is not posted; null where nothing is held back. */
export function describeHeld({ planned, outage, restoreHold }: Outstanding): string | null {
  if (restoreHold !== null) return restoreHold
  if (outage === null || planned === 0) return null
  return (
    `${describeOutage(outage)} ${formatCount(planned)} tasks stay planned; the next run posts ` +
    'them, when that is over and their slot lasts.'
  )
}

/** Of tasks that wait for another attempt, without a full stop. */
export function describeAttempts(waiting: number, nextAt: Date | null): string {
  const [wait, first] =
    waiting === 1
      ? ['1 task that the store failed waits', '']
      : [`${formatCount(waiting)} tasks that the store failed wait`, 'the first ']
  return `${wait} for another attempt${nextAt === null ? '' : `, ${first}at ${formatInstant(nextAt)}`}`
}

/** Of posts whose answer was lost; null without one. */
export function describeUnknown({ unknownPosts, waitsUntil }: Outstanding): string | null {
  if (unknownPosts === 0) return null
  const when = waitsUntil === null ? 'the next scan' : formatInstant(waitsUntil)
  return (
    `${unknownPosts} posts are unknown: their answer was lost or is doubted. They are looked for at the ` +
    `service, and released at ${when} at the earliest.`
  )
}
