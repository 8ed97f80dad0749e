import { argument, command, flag, option, repeated } from '../command.ts'
import { interval, priority, wholeNumber } from '../option-values.ts'

export const watch = command({
  name: 'watch',
  group: 'Watch',
  summary: 'watch keywords, with defaults it tells; --from-app proposes keywords',
  arguments: { keywords: argument('[keyword...]', 'as people type them into the search of the store') },
  options: {
    app: repeated(option('<id>', 'an app of the project, by its id or address; may be repeated')),
    store: option('<store>', 'ios, android or both with a comma (default: by the app, else ios)'),
    location: option('<name>', 'US, Germany, several with commas, or a place (default: the usual one)'),
    country: option('<country>', 'the same as --location'),
    language: option('<language>', 'such as en (default: the usual one, or that of the country)'),
    project: option('<name>', 'default: that of the app, or the only one'),
    every: option('<interval>', 'how often: 1, 2, 3, 4, 6, 8 or 12h, 1 to 31d', interval),
    depth: option('<number>', 'results to look at', wholeNumber(1, 700)),
    priority: option('<number>', '1, or 2: twice the price', priority),
    tag: repeated(option('<tag>', 'may be repeated')),
    fromApp: option('<id>', 'propose keywords on which this app ranks in what is stored'),
    json: flag('print proposals as JSON'),
    csv: flag('print proposals as the file that `storerank import` reads', { conflicts: ['json'] }),
  },
  offers: [
    {
      name: 'watch',
      summary: 'Watches keywords, within the budgets; with fromApp proposes keywords and changes nothing',
      role: 'storerank_editor',
      changes: true,
    },
  ],
  examples: ['storerank watch "meditation timer" --app 1480010017 --store ios --location "United States"'],
  run: async (options, context) => (await import('../watch.ts')).watchOrPropose(options, context),
})
