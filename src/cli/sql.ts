/** `storerank sql "…"`: any SQL on the database in use, as a table, JSON or CSV. Values are printed as Postgres writes them. */
import postgres from 'postgres'
import { beginWith, MEANING, postgresOptions } from '../db/connection.ts'
import { ConfigurationError } from '../errors.ts'
import type { CommandContext, CommandOptions } from './command.ts'
import { openDatabaseSession } from './database-session.ts'
import { type Column, printCsv, printJson, printTable, type Row } from './print.ts'

/** What the driver returns for one statement. */
interface Statement extends ReadonlyArray<readonly unknown[]> {
  readonly columns?: readonly { readonly name: string }[]
  readonly command: string
  readonly count: number
}

/** date, time, timestamp, timestamptz and interval stay as they are: a Date would move them into another time zone. */
const TIMES = { to: 25, from: [1082, 1083, 1114, 1184, 1186, 1266], parse: String, serialize: String }
/** A number where JavaScript holds it exactly, else the digits. */
const WHOLE_NUMBERS = { to: 20, from: [20], parse: parseWhole, serialize: String }

export async function run(options: CommandOptions['sql'], context: CommandContext): Promise<number> {
  if (options.query.trim() === '') throw new ConfigurationError('There is no SQL in the query.')
  const session = await openDatabaseSession(context, { migrates: false })
  const client = postgres({
    ...postgresOptions(session.db.url),
    max: 1,
    onnotice: () => {},
    types: { times: TIMES, whole: WHOLE_NUMBERS },
    connection: { application_name: 'storerank sql', options: beginWith(MEANING) },
  })
  try {
    const pending = client.unsafe(options.query).simple().values()
    context.signal.addEventListener('abort', () => pending.cancel(), { once: true })
    const result = (await pending) as unknown as Statement | Statement[]
    // Several statements come as an array of results, one as its rows.
    const statements = 'command' in result ? [result] : result
    for (const statement of statements) print(statement, options, context)
    return 0
  } catch (error) {
    context.stderr.write(`${explain(error)}\n`)
    return 1
  } finally {
    await client.end({ timeout: 1 })
    await session.close()
  }
}

function print(statement: Statement, options: CommandOptions['sql'], output: CommandContext): void {
  if (statement.columns === undefined || statement.columns.length === 0) {
    if (options.format === 'table') output.stdout.write(`${statement.command} ${statement.count}\n`)
    return
  }
  const columns = nameColumns(statement.columns.map(({ name }) => name))
  const rows = statement.map(
    (values): Row => Object.fromEntries(columns.map(({ key }, i) => [key, values[i]])),
  )
  if (options.format === 'json') printJson(rows, output)
  else if (options.format === 'csv') printCsv(rows, columns, output)
  else printTable(rows, columns, output)
}

/** Two columns of one name would hide each other: the second gets a number. */
function nameColumns(names: readonly string[]): Column[] {
  const seen = new Map<string, number>()
  return names.map((name) => {
    const nth = (seen.get(name) ?? 0) + 1
    seen.set(name, nth)
    return { key: nth === 1 ? name : `${name}_${nth}` }
  })
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
