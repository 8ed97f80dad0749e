import { command, flag, option } from '../command.ts'
import { database } from '../needs.ts'
import { interval, priority, wholeNumber } from '../option-values.ts'

export const forecast = command({
  name: 'forecast',
  group: 'Look',
  summary: 'show what the watches cost a day and a month, or would, and which budget ends',
  options: {
    every: option(
      '<interval>',
      'as if they were measured so often: 1, 2, 3, 4, 6, 8 or 12h, 1 to 31d',
      interval,
    ),
    depth: option('<number>', 'as if keywords and charts were looked at so deep', wholeNumber(1, 1000)),
    priority: option('<number>', 'as if they had this priority', priority),
    project: option('<name>', 'only the watches of this project'),
    tag: option('<tag>', 'only the watches with this tag'),
    json: flag('print JSON instead of tables'),
  },
  examples: ['storerank forecast --every 6h --depth 100 --tag brand'],
  offers: [
    {
      name: 'forecast',
      summary: 'What the watches cost a day and a month, or would, and which budget ends',
    },
  ],
  needs: database(),
  run: async ({ json: _, ...question }, context, { db }) =>
    (await import('../forecast.ts')).showForecast(db, question, context),
})
