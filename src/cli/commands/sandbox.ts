import { DEVIATION_NAMES, DEVIATIONS } from '../../sandbox/deviations.ts'
import { command, flag, option, repeated, usually } from '../command.ts'
import { oneOf, wholeNumber } from '../option-values.ts'

const WAYS = Object.entries(DEVIATIONS).map(([name, sentence]) => `  ${name.padEnd(19)} ${sentence}`)

export const sandbox = command({
  name: 'sandbox',
  group: 'The service',
  summary: 'serve the App Data Service on loopback with invented data, until SIGTERM or Ctrl-C',
  options: {
    port: option('<number>', 'port to listen on', wholeNumber(0, 65_535)),
    login: usually('sandbox', option('<login>', 'login of the account')),
    password: usually('sandbox', option('<password>', 'password of the account')),
    readyMs: option('<number>', 'how long a task takes, in milliseconds', wholeNumber(0, 86_400_000)),
    seed: option('<number>', 'the same seed gives the same rankings', wholeNumber(0, 2 ** 31 - 1)),
    state: option('<file>', 'file that keeps the state across restarts (default: in memory only)'),
    catalog: option('<file>', 'CSV of real apps to rank beside the invented ones'),
    events: option('<file>', 'JSON of what happens to apps and when: launches, releases, climbs and falls'),
    faults: option('<faults>', 'trouble by kind and rate: http500=0.05,slow=0.1, all=0.05, or JSON'),
    asSold: flag('be the service as it is sold, where that differs from its specification'),
    deviation: repeated(
      option('<name>', 'be so in one way, of those below (repeatable)', oneOf('deviation', DEVIATION_NAMES)),
    ),
  },
  examples: ['storerank sandbox --port 8080 --ready-ms 500'],
  notes: `Deviations:\n${WAYS.join('\n')}`,
  run: async (options, context) => (await import('../sandbox.ts')).serveSandbox(options, context),
})
