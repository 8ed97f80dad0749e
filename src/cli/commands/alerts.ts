import { argument, command, flag, option, usually } from '../command.ts'
import { database } from '../needs.ts'
import { wholeNumber } from '../option-values.ts'

const days = (help: string) => option('<number>', help, wholeNumber(1, 366))

const test = command({
  name: 'test',
  summary: 'send a message that is marked as a test',
  arguments: { channel: argument('<channel>', 'name of a channel') },
  examples: ['storerank alerts test ops'],
  needs: database(),
  run: async ({ channel }, context, { db }) =>
    (await import('../alert-channels.ts')).testChannel(db, channel, context),
})

const retry = command({
  name: 'retry',
  summary: 'send again, under the same ids, the messages that were given up',
  arguments: { channel: argument('[channel]', 'name of a channel (default: each of them)') },
  options: { days: usually(7, days('those that were given up in so many days')) },
  examples: ['storerank alerts retry ops --days 3'],
  needs: database(),
  run: async (options, _, { db }) => (await import('../alert-channels.ts')).retryMessages(db, options),
})

export const alerts = command({
  name: 'alerts',
  group: 'Look',
  summary:
    'show the rules with their last event; what they would have told; send a test, or what was given up',
  options: {
    trial: flag('say what the rules would have told over the past days, and send nothing'),
    days: days('of the trial (default: 30)'),
    project: option('<name>', 'this project (default: each of them)'),
    json: flag('print JSON'),
  },
  examples: ['storerank alerts --trial --days 30'],
  commands: [test, retry],
  needs: database(),
  run: async (options, { signal }, { db }) => (await import('../alerts.ts')).showAlerts(db, options, signal),
})
