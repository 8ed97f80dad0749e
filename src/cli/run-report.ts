/** What a run says at its end: ranks, money, and where to look next. */
import type { Database } from '../db/database.ts'
import type { CycleResult } from '../queue/cycle.ts'
import { countBudgetCuts, readBudgets, readSpentByFunction, readSpentSince } from '../report/money.ts'
import { type RankLine, readLatestRanks, readNextDue } from '../report/ranks.ts'
import { readProblems } from '../report/status.ts'
import { formatChange } from '../report/words.ts'
import type { ServiceFunction } from '../service/functions.ts'
import type { CommandContext } from './command.ts'
import { formatCount, formatInstant, formatMicros, printTable } from './print.ts'
import type { WorkSession } from './session.ts'

/** What a person takes in at a glance; the rest is a query away. */
const RANKS_SHOWN = 40
const PROBLEMS_SHOWN = 5

/** Prints to stdout; numbers come from the database alone. */
export async function printRunReport(
  session: WorkSession,
  result: CycleResult,
  began: Date,
  context: CommandContext,
): Promise<void> {
  await printRanks(session, context)
  await printMoney(session, result, began, context)
  await printProblems(session, context)
  printWhereNext(session, context)
}

async function printRanks({ db }: WorkSession, context: CommandContext): Promise<void> {
  const { lines, total } = await readLatestRanks(db, RANKS_SHOWN)
  if (total === 0) {
    context.stdout.write(
      'There is no rank yet: it takes a keyword or a chart that was measured, and an app of the same project and store.\n',
    )
    return
  }
  const isOwn = ({ role }: RankLine) => role === 'own'
  printRankTable('Own apps', lines.filter(isOwn), context)
  printRankTable(
    'Competitors',
    lines.filter((line) => !isOwn(line)),
    context,
  )
  if (total > lines.length) {
    context.stdout.write(`… and ${formatCount(total - lines.length)} more: select * from rank_latest;\n`)
  }
  context.stdout.write(
    'rank "> 100": measured, and not among the first 100; "not in 53": the store has no more results; change: against the day before, in and out: of the ranks that were looked at; out of: results in the store.\n\n',
  )
}

function printRankTable(title: string, lines: readonly RankLine[], context: CommandContext): void {
  if (lines.length === 0) return
  const rows = lines.map((line) => ({
    project: line.project,
    app: line.app,
    keyword: line.keyword,
    store: `${line.store === 'ios_store' ? 'iOS' : 'Android'} ${line.location}`,
    rank: describeRank(line),
    change: formatChange(line, ['▲ ', '▼ ']),
    'out of': line.results,
  }))
  const columns = ['project', 'app', 'keyword', 'store'].map((key) => ({ key }))
  const numbers = ['rank', 'change', 'out of'].map((key) => ({ key, align: 'right' as const }))
  context.stdout.write(`\n${title}\n`)
  printTable(rows, [...columns, ...numbers], context)
}

function describeRank(line: RankLine): string {
  if (line.rank !== null) return String(line.rank)
  if (line.outcome !== 'not_in_top') return line.outcome
  const isWholeStore = line.results !== null && line.depth !== null && line.results < line.depth
  return isWholeStore ? `not in ${line.results}` : `> ${line.depth}`
}

async function printMoney(
  { db }: WorkSession,
  result: CycleResult,
  began: Date,
  context: CommandContext,
): Promise<void> {
  const spent = await readSpentSince(db, began)
  const net = spent.chargedMicros + spent.duplicateMicros + spent.adjustedMicros - spent.refundedMicros
  const say = (text: string) => context.stdout.write(`${text}\n`)
  if (spent.tasks === 0) {
    const next = await readNextDue(db)
    const cut = await countBudgetCuts(db)
    if (cut > 0)
      say(`Bought nothing: the budget does not reach the ${formatCount(cut)} measurements that are due.`)
    else if (result.refusal !== null || result.outstanding.outage !== null) say('Bought nothing.')
    else if (next === null) say('Bought nothing: nothing is watched.')
    else
      say(
        `Bought nothing: everything due is measured or under way. The next slot begins at ${formatInstant(next)}.`,
      )
  } else {
    const refund =
      spent.refundedMicros > 0
        ? `: charged ${formatMicros(spent.chargedMicros)}, refunded ${formatMicros(spent.refundedMicros)} for results that the stores did not have`
        : ''
    say(
      `Spent ${formatMicros(net)} on ${formatCount(spent.tasks)} ${spent.tasks === 1 ? 'measurement' : 'measurements'} since this run began${refund}.`,
    )
    await printFunctions(db, began, context)
  }
  await printBudgets(db, result, context)
}

async function printBudgets(db: Database, result: CycleResult, context: CommandContext): Promise<void> {
  const { budget } = context.config
  const say = (text: string) => context.stdout.write(`${text}\n`)
  for (const line of await readBudgets(db, budget)) {
    const left = formatMicros(line.limitMicros - line.usedMicros)
    say(`  left of ${line.budget}: ${left} of ${formatMicros(line.limitMicros)}`)
    if (line.warning !== null) say(`    ${line.warning}`)
  }
  if (budget.maxRunMicros !== null) {
    const reserved = formatMicros(Number(result.plan.plannedMicros ?? 0))
    say(`  reserved by this run: ${reserved} of MAX_USD_PER_RUN ${formatMicros(budget.maxRunMicros)}`)
  }
}

/** One, and several. */
const FUNCTION_NAMES: Readonly<Record<ServiceFunction, readonly [string, string]>> = {
  app_searches: ['search', 'searches'],
  app_info: ['page of an app', 'pages of apps'],
  app_list: ['chart', 'charts'],
  app_reviews: ['list of reviews', 'lists of reviews'],
}

async function printFunctions(db: Database, began: Date, context: CommandContext): Promise<void> {
  const lines = await readSpentByFunction(db, began)
  if (lines.length < 2) return
  for (const line of lines) {
    const [one, several] = FUNCTION_NAMES[line.function]
    const what = `${formatCount(line.tasks)} ${line.tasks === 1 ? one : several}`
    context.stdout.write(`  ${formatMicros(line.netMicros)} on ${what}\n`)
  }
}

async function printProblems({ db }: WorkSession, context: CommandContext): Promise<void> {
  const { lines, total, isMore } = await readProblems(db, PROBLEMS_SHOWN)
  if (total === 0) return
  context.stdout.write(
    `\n${isMore ? 'At least ' : ''}${formatCount(total)} problems (select * from watch_problem; select * from task_problem;):\n`,
  )
  for (const line of lines) context.stdout.write(`  ${line.about}: ${line.message}\n`)
}

function printWhereNext(session: WorkSession, context: CommandContext): void {
  const say = (text: string) => context.stdout.write(`${text}\n`)
  say('\nLook further:')
  say('  npx storerank sql "select outcome, count(*) from rank_history group by 1"')
  say('Watch another keyword:')
  say(
    `  npx storerank sql "insert into keyword_watch (project, store, keyword, location_code, language_code) values ('fitness', 'ios_store', 'your keyword', 2840, 'en')"`,
  )
  if (session.embedded !== null) {
    say('Any client connects while `npm start` runs:')
    say(`  psql "${session.embedded.psqlUrl}"`)
  }
  if (session.embedded === null && session.sandboxUrl === null) return
  say('')
  if (session.embedded !== null) {
    say('This used the EMBEDDED DATABASE. DATABASE_URL replaces it with your own Postgres (15 or later).')
  }
  if (session.sandboxUrl !== null) {
    say(
      'This used the SANDBOX: apps, ranks and money are invented. APP_DATA_URL (with APP_DATA_LOGIN and APP_DATA_PASSWORD) replaces it with your account. The sandbox stays for ten minutes after the last command, and goes on where it was when it is started again.',
    )
  }
}
