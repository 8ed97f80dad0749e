import { argument, command, flag } from '../command.ts'
import { database } from '../needs.ts'

export const sql = command({
  name: 'sql',
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
  run: async ({ query }, context, session) => (await import('../sql.ts')).runSql(session, query, context),
})
