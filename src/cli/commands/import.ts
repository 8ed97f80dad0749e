import { argument, command, flag, option } from '../command.ts'
import { encoding } from '../option-values.ts'

export const importCommand = command({
  name: 'import',
  group: 'Watch',
  summary:
    'bring watches or rules of alerts in from CSV files: adds and changes what they name, deletes nothing',
  arguments: {
    files: argument(
      '<file...>',
      'CSV whose first line names columns of keyword_watch, app_watch or chart_watch, or what `export ' +
        'alerts` has; - is stdin',
    ),
  },
  options: {
    trial: flag('say what would happen and what it would cost, and change nothing'),
    replace: option('<project>', 'disable what the files do not name of this project'),
    encoding: option('<name>', 'if not UTF-8, such as windows-1252 (default: guessed)', encoding),
  },
  offers: [
    {
      name: 'import_trial',
      summary: 'What an import of watches would change and cost a month; changes nothing',
      role: 'storerank_editor',
      fixed: { trial: true, onlyWatches: true },
      textOf: 'files',
    },
    {
      name: 'import',
      summary: 'Adds and changes the watches that a CSV names, within the budgets; try import_trial first',
      role: 'storerank_editor',
      changes: true,
      fixed: { trial: false, onlyWatches: true },
      textOf: 'files',
    },
  ],
  examples: ['storerank import keywords.csv --trial'],
  run: async (options, context) => (await import('../import.ts')).importFiles(options, context),
})
