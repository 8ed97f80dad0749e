import { command, option } from '../command.ts'
import { listenAddress } from '../option-values.ts'

export const start = command({
  name: 'start',
  group: 'Measure',
  summary: 'wake the jobs on their schedules until SIGTERM or Ctrl-C, then stop in order',
  options: {
    listen: option(
      '<[host:]port>',
      'take what is delivered to POSTBACK_URL; a port is on loopback',
      listenAddress,
    ),
  },
  examples: ['DATABASE_URL=postgres://me:secret@localhost/ranks storerank start'],
  run: async (options, context) => (await import('../start.ts')).start(options, context),
})
