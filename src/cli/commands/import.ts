import { argument, command, flag, option, repeated } from '../command.ts'
import { encoding } from '../option-values.ts'

export const importCommand = command({
  name: 'import',
  group: 'Watch',
  summary: 'bring watches or rules of alerts in from files: adds and changes what they name, deletes nothing',
  arguments: {
    files: argument(
      '<file...>',
      'CSV or .xlsx: columns in any usual spelling, a plain list of keywords, a matrix of keywords and ' +
        'countries, or what `export` writes; - is stdin. With `history` before it, ranks of another tool: ' +
        'date, keyword, country, store, app, rank',
    ),
  },
  options: {
    trial: flag('say what would happen and what it would cost, and change nothing'),
    replace: option('<project>', 'disable what the files do not name of this project'),
    map: repeated(option('<header=column>', 'what a column is, such as "Term=keyword"; may be repeated')),
    project: option('<name>', 'of rows that name none (default: the only one)'),
    store: option('<store>', 'of rows that name none: ios, android or both with a comma'),
    country: option('<country>', 'of rows that name none: US, Germany, or several with commas'),
    language: option('<language>', 'of rows that name none (default: that of the country)'),
    app: option('<id>', 'of a history whose rows name none'),
    source: option('<name>', 'of a history: the tool that measured (default: the name of the file)'),
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
  examples: ['storerank import terms.txt --project fitness --store ios --country US,GB --trial'],
  run: async (options, context) => (await import('../import.ts')).importFiles(options, context),
})
