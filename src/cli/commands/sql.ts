/** Any SQL on the database in use. Values are printed as Postgres writes them. */
import { PLANNING_SETTINGS, SEMANTIC_SETTINGS } from '../../db/connection.ts'
import { EXACT_TYPES } from '../../db/driver.ts'
import { type Answer, openSession } from '../../db/session.ts'
import { ConfigurationError } from '../../errors.ts'
import { uniqueNames } from '../../report/export/export.ts'
import { argument, command, flag } from '../command.ts'
import { database } from '../database-session.ts'
import { type Document, type Row, table } from '../document.ts'
import { EXIT } from '../failure.ts'
import { explainError } from '../sql-error.ts'
import { warn } from '../tell.ts'

/** Dates and times stay as Postgres writes them: a Date would move them into another time zone. */
const TIMES = { to: 25, from: [1082, 1083, 1114, 1184, 1186, 1266], parse: String, serialize: String }

export const sql = command({
  group: 'Look',
  summary: 'run SQL on the database and print what it returns; several statements are one transaction',
  arguments: { query: argument('<query>', 'one SQL statement, or several with ; between them') },
  options: {
    expanded: flag('print each row as a block, a line for each column', { short: 'x' }),
    json: flag('print one JSON document', { conflicts: ['expanded'] }),
    csv: flag('print CSV', { conflicts: ['json', 'expanded'] }),
  },
  examples: ['storerank sql "select outcome, count(*) from rank_history group by 1" --csv'],
  notes:
    '--json: an array with one object for each row, empty without rows; where several statements return ' +
    'rows, an\n' +
    'array of such arrays. --csv: one table after the other, with an empty line between them.\n' +
    'On a terminal what is larger than the screen goes through PAGER (less where it is not set, none ' +
    'where it is empty).',
  needs: database({ takesAnySchema: true, readsAnyState: true }),
  run: async ({ query }, context, { db, isOfAnotherState }) => {
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
      warn(context, await explainError(error, query, session))
      return EXIT.failed
    } finally {
      await session.end()
    }
  },
})

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
