import { SECTIONS } from '../../sections.ts'
import { command, option, usually } from '../command.ts'
import { database } from '../needs.ts'
import { someOf, wholeNumber } from '../option-values.ts'

export const digest = command({
  name: 'digest',
  group: 'Look',
  summary: 'print what a digest of the last days would say',
  options: {
    project: option('<name>', 'this project (default: each of them)'),
    days: usually(7, option('<number>', 'days that are compared', wholeNumber(1, 366))),
    without: option(
      '<names>',
      'sections that it leaves out, such as money,gaps',
      someOf('section', SECTIONS),
    ),
  },
  examples: ['storerank digest --project fitness --days 7'],
  needs: database(),
  run: async (options, _, { db }) => (await import('../digest.ts')).showDigests(db, options),
})
