import { command, flag, option } from '../command.ts'
import { database } from '../needs.ts'
import { day } from '../option-values.ts'

export const report = command({
  name: 'report',
  group: 'Look',
  summary: 'show what moved, against whom, what was not measured and why, and what it cost',
  options: {
    project: option('<name>', 'this project (default: each of them)'),
    tag: option('<tag>', 'only keywords and charts with this tag'),
    from: option('<day>', 'first day, such as 2026-03-01 (default: 90 days in all)', day),
    to: option('<day>', 'last day (default: the last one with a measurement or a gap)', day),
    json: flag('print JSON instead of tables', { conflicts: ['html'] }),
    html: option('<file>', 'write a page instead: one file that opens from the disk'),
    title: option('<text>', 'title of the page (default: the name of the project)'),
    logo: option('<file>', 'picture beside the title: PNG, JPEG, SVG or WebP'),
  },
  examples: ['storerank report --project fitness --html fitness.html'],
  needs: database(),
  run: async ({ json: _, ...options }, context, { db }) =>
    (await import('../report.ts')).showReport(db, options, context),
})
