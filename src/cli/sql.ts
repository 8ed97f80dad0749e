/** What `storerank sql` does: any SQL on the database in use. Values are printed as Postgres writes them. */
import { PLANNING_SETTINGS, SEMANTIC_SETTINGS } from '../db/connection.ts'
import { type DatabaseError, EXACT_TYPES } from '../db/driver.ts'
import { type Answer, openSession } from '../db/session.ts'
import { ConfigurationError } from '../errors.ts'
import { uniqueNames } from '../report/export/source.ts'
import type { CommandContext } from './command.ts'
import type { DatabaseSession } from './database-session.ts'
import { type Document, type Row, table } from './document.ts'
import { DUPLICATE, hintAt } from './sql-hint.ts'
import { warn } from './tell.ts'

/** Dates and times stay as Postgres writes them: a Date would move them into another time zone. */
const TIMES = { to: 25, from: [1082, 1083, 1114, 1184, 1186, 1266], parse: String, serialize: String }

export async function runSql(
  { db, isOfAnotherState }: DatabaseSession,
  query: string,
  context: CommandContext,
): Promise<Document | number> {
  if (query.trim() === '') throw new ConfigurationError('There is no SQL in the query.')
  const session = openSession(db.url, {
    name: 'storerank sql',
    settings: {
      ...SEMANTIC_SETTINGS,
      ...PLANNING_SETTINGS,
      ...(isOfAnotherState && { default_transaction_read_only: 'on' }),
    },
    onNotice: ({ severity, message }) => warn(context, `${severity}: ${message}`),
    types: { times: TIMES, ...EXACT_TYPES },
  })
  try {
    return describeAnswers(await session.ask(query, context.signal))
  } catch (error) {
    // Within a transaction that has failed, nothing can be asked.
    const hint = await hintAt(error, query, session).catch(() => '')
    warn(context, [explain(error), hint].filter(Boolean).join('\n'))
    return 1
  } finally {
    await session.end()
  }
}

function describeAnswers(answers: readonly Answer[]): Document {
  const [first = [], ...more] = answers.map(readRows)
  return {
    data: more.length === 0 ? first : [first, ...more],
    parts: answers.map((answer) => {
      const columns = nameColumns(answer)
      if (columns.length > 0) return table(readRows(answer), { columns })
      // An INSERT returns no rows: `INSERT 3`.
      return [answer.command, answer.count].filter((part) => part !== null).join(' ')
    }),
    paged: 'wide',
  }
}

/** Each is named once. */
function nameColumns({ columns = [] }: Answer): string[] {
  return uniqueNames(columns.map(({ name }) => name))
}

function readRows(answer: Answer): Row[] {
  const columns = nameColumns(answer)
  return answer.map((values) => Object.fromEntries(columns.map((key, index) => [key, values[index]])))
}

/** Postgres says most of it best: message, detail and hint. Of a key it says more than its values. */
function explain(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { code, table_name: table, detail = '', hint } = error as DatabaseError
  const values = code === DUPLICATE ? /\)=\((.*)\) already exists\.$/s.exec(detail)?.[1] : undefined
  if (values !== undefined) {
    const told = values.split(', ').filter((value) => value !== '' && value !== '0')
    return `The database refused it: ${table} has such a row already: ${told.join(', ')}.`
  }
  return [`The database refused it: ${error.message}`, detail, hint].filter(Boolean).join('\n')
}
