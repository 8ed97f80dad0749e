import { MONTH_DAYS } from '../../demo/days.ts'
import { command, flag, option, usually } from '../command.ts'
import { wholeNumber } from '../option-values.ts'

export const demo = command({
  name: 'demo',
  group: 'Set up',
  summary: 'live through a month on a database and a sandbox of its own, and write its report',
  options: {
    folder: option('<folder>', 'where it lives (default: .storerank-demo)'),
    seed: usually(1, option('<number>', 'the same seed gives the same month', wholeNumber(0, 2 ** 31 - 1))),
    days: usually(MONTH_DAYS, option('<number>', 'only its first days', wholeNumber(1, MONTH_DAYS))),
    asSold: flag('against the service as it is sold, instead of its specification'),
  },
  examples: ['storerank demo --seed 7'],
  run: async (options, context) => (await import('../demo.ts')).makeDemo(options, context),
})
