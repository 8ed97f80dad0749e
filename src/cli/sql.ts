/**
 * `storerank sql "…"`: any SQL on the database in use, as a table, in blocks, as JSON or CSV. Values are printed as Postgres writes them.
 */
import postgres from 'postgres'
import { beginWith, MEANING, postgresOptions, SPARING } from '../db/connection.ts'
import { ConfigurationError } from '../errors.ts'
import { toPrintable } from '../log.ts'
import { uniqueNames } from '../report/export/source.ts'
import type { CommandContext, CommandOptions } from './command.ts'
import { openDatabaseSession } from './database-session.ts'
import { isLarger, showByPager } from './pager.ts'
import { type Column, drawExpanded, drawTable, printCsv, printJson, type Row } from './print.ts'
import { hintAt } from './sql-hint.ts'

/** What the driver returns for one statement. */
interface Statement extends ReadonlyArray<readonly unknown[]> {
  readonly columns?: readonly { readonly name: string }[]
  readonly command: string
  /** Null of a statement that is not about rows, as ALTER DATABASE. */
  readonly count: number | null
}

/** One statement's answer, its columns named once each. */
interface Answer {
  readonly rows: readonly Row[]
  /** Null when the statement returns no rows, as an INSERT does. */
  readonly columns: readonly Column[] | null
  /** `INSERT 3` */
  readonly tag: string
}

/** date, time, timestamp, timestamptz and interval stay as they are: a Date would move them into another time zone. */
const TIMES = { to: 25, from: [1082, 1083, 1114, 1184, 1186, 1266], parse: String, serialize: String }
/** A number where JavaScript holds it exactly, else the digits. */
const WHOLE_NUMBERS = { to: 20, from: [20], parse: parseWhole, serialize: String }

export async function run(options: CommandOptions['sql'], context: CommandContext): Promise<number> {
  const { stderr, signal } = context
  if (options.query.trim() === '') throw new ConfigurationError('There is no SQL in the query.')
  const session = await openDatabaseSession(context, { migrates: false })
  const client = postgres({
    ...postgresOptions(session.db.url),
    max: 1,
    onnotice: ({ severity, message }) => stderr.write(`${toPrintable(`${severity}: ${message}`)}\n`),
    types: { times: TIMES, whole: WHOLE_NUMBERS },
    connection: { application_name: 'storerank sql', options: beginWith({ ...MEANING, ...SPARING }) },
  })
  try {
    const pending = client.unsafe(options.query).simple().values()
    signal.addEventListener('abort', () => pending.cancel(), { once: true })
    const result = (await pending) as unknown as Statement | Statement[]
    // Several statements come as an array of results, one as its rows.
    const statements = 'command' in result ? [result] : result
    await print(statements.map(readAnswer), options, context)
    return 0
  } catch (error) {
    // Within a transaction that has failed, nothing can be asked.
    const hint = await hintAt(error, options.query, client).catch(() => '')
    stderr.write(`${toPrintable([explain(error), hint].filter(Boolean).join('\n'))}\n`)
    return 1
  } finally {
    await client.end({ timeout: 1 })
    await session.close()
  }
}

function readAnswer(statement: Statement): Answer {
  const tag = [statement.command, statement.count].filter((part) => part !== null).join(' ')
  if (statement.columns === undefined || statement.columns.length === 0) {
    return { rows: [], columns: null, tag }
  }
  const columns = uniqueNames(statement.columns.map(({ name }) => name)).map((key) => ({ key }))
  const rows = statement.map(
    (values): Row => Object.fromEntries(columns.map(({ key }, i) => [key, values[i]])),
  )
  return { rows, columns, tag }
}

async function print(
  answers: readonly Answer[],
  { format }: CommandOptions['sql'],
  context: CommandContext,
): Promise<void> {
  if (format === 'json') {
    const [first, ...more] = answers.map(({ rows }) => rows)
    printJson(more.length === 0 ? (first ?? []) : [first, ...more], context)
  } else if (format === 'csv') {
    const tables = answers.flatMap(({ rows, columns }) => (columns === null ? [] : [{ rows, columns }]))
    for (const [index, { rows, columns }] of tables.entries()) {
      if (index > 0) context.stdout.write('\n')
      printCsv(rows, columns, context)
    }
  } else await show(answers, format, context)
}

/** On a terminal through the pager, where the text is larger than the screen; there a table need not fit, as a pager scrolls. */
async function show(
  answers: readonly Answer[],
  format: 'table' | 'expanded',
  { stdout, config }: CommandContext,
): Promise<void> {
  const draw = (width: number) =>
    answers
      .map(({ rows, columns, tag }) => {
        if (columns === null) return `${tag}\n`
        return format === 'expanded' ? drawExpanded(rows, columns) : drawTable(rows, columns, width)
      })
      .join('')
  const text = draw(Number.POSITIVE_INFINITY)
  if (!stdout.isTTY || !isLarger(text, stdout)) stdout.write(text)
  else if (config.pager === null || !(await showByPager(text, config.pager)))
    stdout.write(draw(stdout.columns || 80))
}

function parseWhole(digits: string): number | string {
  const number = Number(digits)
  return Number.isSafeInteger(number) ? number : digits
}

/** Postgres says it best: message, detail and hint. */
function explain(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { detail, hint } = error as { detail?: string; hint?: string }
  return [`The database refused it: ${error.message}`, detail, hint].filter(Boolean).join('\n')
}
