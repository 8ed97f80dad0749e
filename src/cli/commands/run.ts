import { argument, command, flag, option } from '../command.ts'
import { listModules } from '../modules.ts'
import { duration, oneOf } from '../option-values.ts'

const JOBS = listModules(new URL('../../../jobs/', import.meta.url))

export const run = command({
  name: 'run',
  group: 'Measure',
  summary: 'run the named jobs once, or the whole cycle until nothing is outstanding',
  arguments: { jobs: argument('[job...]', `any of ${JOBS.join(', ')}`, oneOf('job', JOBS)) },
  options: {
    wait: option('<duration>', 'longest wait for what is outstanding, such as 90s or 45m', duration),
    metrics: option('<file>', 'write the metrics there at the end, in the text format of Prometheus'),
    brief: flag('say in one line what was done: for cron and the journal'),
  },
  examples: ['storerank run track collect --wait 45m'],
  run: async (options, context) => (await import('../run.ts')).run(options, context),
})
