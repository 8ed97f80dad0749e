import { argument, command, flag, option } from '../command.ts'
import { database } from '../needs.ts'
import { oneOf } from '../option-values.ts'

export const exportCommand = command({
  name: 'export',
  group: 'Look',
  summary: 'stream a view, a SELECT, watches or rules of alerts: to a file or stdout, of any size',
  arguments: {
    what: argument('<what>', 'a view, a SELECT, or `watches` or `alerts`, which `storerank import` reads'),
  },
  options: {
    format: option(
      '<format>',
      'csv, jsonl or parquet (default: by the name of the file, else csv)',
      oneOf('format', ['csv', 'jsonl', 'parquet']),
    ),
    out: option('<file>', 'file to write, whole or not at all (default: stdout)'),
    wide: flag('a column for each value of the last but one column, with the last column below it'),
  },
  examples: ['storerank export rank_history --out ranks.parquet'],
  needs: database({ readsAnyState: true }),
  run: async (options, context, { db }) => (await import('../export.ts')).exportRows(db, options, context),
})
