import { SECTIONS } from '../../sections.ts'
import { command, flag, option } from '../command.ts'
import { database } from '../needs.ts'
import { colour, day, readableFile, someOf } from '../option-values.ts'

export const report = command({
  name: 'report',
  group: 'Look',
  summary: 'show what moved, against whom, what was not measured and why, and what it cost',
  options: {
    project: option('<name>', 'this project (default: each of them)'),
    tag: option('<tag>', 'only keywords and charts with this tag'),
    location: option('<name>', 'only those of this location, such as "United States" or US'),
    from: option('<day>', 'first day, such as 2026-03-01 (default: 90 days in all)', day),
    to: option('<day>', 'last day (default: the last one with a measurement or a gap)', day),
    json: flag('print JSON instead of tables', { conflicts: ['html'] }),
    html: option('<file>', 'write a page instead: one file that opens from the disk'),
    title: option('<text>', 'title of the page (default: the name of the project)'),
    logo: option('<file>', 'picture beside the title: PNG, JPEG, SVG or WebP'),
    intro: option('<file>', 'Markdown that the page begins with', readableFile),
    accent: option('<colour>', 'of links on the page, such as #1d59c4', colour),
    sections: option('<names>', `only these: ${SECTIONS.join(', ')}`, someOf('section', SECTIONS)),
    without: option('<names>', 'all sections but these, such as money,gaps', someOf('section', SECTIONS)),
  },
  examples: ['storerank report --project fitness --html fitness.html'],
  needs: database(),
  run: async ({ json: _, ...options }, context, { db }) =>
    (await import('../report.ts')).showReport(db, options, context),
})
