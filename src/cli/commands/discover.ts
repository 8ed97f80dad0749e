import { command, flag, option, required, usually } from '../command.ts'
import { wholeNumber } from '../option-values.ts'

export const discover = command({
  name: 'discover',
  group: 'Watch',
  summary: 'propose keywords from what ranks; buys only with --probe or --listings',
  options: {
    project: required(option('<name>', 'whose keywords, apps and competitors it starts from')),
    app: option('<id>', 'an app of the project: from what ranks beside it, and from its page alone'),
    country: option('<name>', 'only for this place: its name, or the ISO code of a country'),
    limit: usually(50, option('<number>', 'how many at most', wholeNumber(1, 1000))),
    listings: option('<words>', "also titles that the service's own search finds for these words"),
    probe: option('<number>', 'buy one measurement of the best of them', wholeNumber(1, 100)),
    yes: flag('buy without asking'),
    out: option('<file>', 'write them as the file that `storerank import` reads'),
    json: flag('print JSON instead of a table'),
  },
  offers: [
    {
      name: 'discover',
      summary: 'Proposes keywords that a project does not watch yet, from what is bought already',
      fixed: { yes: false, probe: null, listings: null, out: null },
    },
  ],
  examples: ['storerank discover --project fitness --country US --out keywords.csv'],
  run: async (options, context) => (await import('../discover.ts')).discoverKeywords(options, context),
})
