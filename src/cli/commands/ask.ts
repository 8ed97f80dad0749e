import { argument, command, flag, option, repeated, usually } from '../command.ts'
import { database } from '../needs.ts'
import { day, namedValue, wholeNumber } from '../option-values.ts'

export const ask = command({
  name: 'ask',
  group: 'Look',
  summary: 'answer a question without SQL; alone, list them',
  arguments: { question: argument('[question]', 'a name of the list, such as market_moves') },
  options: {
    project: option('<name>', 'this project (default: the only one)'),
    days: usually(30, option('<number>', 'the last day beside so many days before', wholeNumber(0, 730))),
    from: option('<day>', 'first day instead, such as 2026-03-01', day),
    to: option('<day>', 'last day (default: the last one with a measurement or a gap)', day),
    day: option('<day>', 'the day of the event, for impact (default: the last day)', day),
    tag: option('<tag>', 'only keywords and charts with this tag'),
    location: option('<name>', 'only those of this location, such as "United States" or US'),
    app: option('<id>', 'only this app'),
    with: repeated(option('<name=value>', 'anything else that the question takes: top=3', namedValue)),
    sort: option('<column>', 'by this column, the smallest first'),
    descending: flag('the greatest first'),
    limit: usually(40, option('<number>', 'rows at most', wholeNumber(1, 100_000))),
    json: flag('print one JSON document'),
    csv: flag('print CSV', { conflicts: ['json'] }),
  },
  examples: ['storerank ask cannibalization --project fitness --days 30'],
  needs: database(),
  run: async (options, _, { db }) => (await import('../ask.ts')).answer(db, options),
})
