/** What `storerank sql` does: any SQL on the database in use. Values are printed as Postgres writes them. */
import postgres from 'postgres'
import { beginWith, MEANING, postgresOptions, SPARING } from '../db/connection.ts'
import { ConfigurationError } from '../errors.ts'
import { uniqueNames } from '../report/export/source.ts'
import type { CommandContext } from './command.ts'
import { type Document, type Row, table } from './document.ts'
import { hintAt } from './sql-hint.ts'
import { warn } from './tell.ts'

/** What the driver returns for one statement. */
interface Statement extends ReadonlyArray<readonly unknown[]> {
  readonly columns?: readonly { readonly name: string }[]
  readonly command: string
  /** Null of a statement that is not about rows, as ALTER DATABASE. */
  readonly count: number | null
}

/** Dates and times stay as Postgres writes them: a Date would move them into another time zone. */
const TIMES = { to: 25, from: [1082, 1083, 1114, 1184, 1186, 1266], parse: String, serialize: String }
/** A number where JavaScript holds it exactly, else the digits. */
const WHOLE_NUMBERS = { to: 20, from: [20], parse: parseWhole, serialize: String }

export async function runSql(
  url: string,
  query: string,
  context: CommandContext,
): Promise<Document | number> {
  if (query.trim() === '') throw new ConfigurationError('There is no SQL in the query.')
  const client = postgres({
    ...postgresOptions(url),
    max: 1,
    onnotice: ({ severity, message }) => warn(context, `${severity}: ${message}`),
    types: { times: TIMES, whole: WHOLE_NUMBERS },
    connection: { application_name: 'storerank sql', options: beginWith({ ...MEANING, ...SPARING }) },
  })
  try {
    const pending = client.unsafe(query).simple().values()
    context.signal.addEventListener('abort', () => pending.cancel(), { once: true })
    const result = (await pending) as unknown as Statement | Statement[]
    // Several statements come as an array of results, one as its rows.
    return describeAnswers('command' in result ? [result] : result)
  } catch (error) {
    // Within a transaction that has failed, nothing can be asked.
    const hint = await hintAt(error, query, client).catch(() => '')
    warn(context, [explain(error), hint].filter(Boolean).join('\n'))
    return 1
  } finally {
    await client.end({ timeout: 1 })
  }
}

function describeAnswers(statements: readonly Statement[]): Document {
  const [first = [], ...more] = statements.map(readRows)
  return {
    data: more.length === 0 ? first : [first, ...more],
    parts: statements.map((statement) => {
      const columns = nameColumns(statement)
      if (columns.length > 0) return table(readRows(statement), { columns })
      // An INSERT returns no rows: `INSERT 3`.
      return [statement.command, statement.count].filter((part) => part !== null).join(' ')
    }),
    paged: 'wide',
  }
}

/** Each is named once. */
function nameColumns({ columns = [] }: Statement): string[] {
  return uniqueNames(columns.map(({ name }) => name))
}

function readRows(statement: Statement): Row[] {
  const columns = nameColumns(statement)
  return statement.map((values) => Object.fromEntries(columns.map((key, index) => [key, values[index]])))
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
