/**
 * `npm run soak`: ninety days of 20,000 tasks each. It ends with 1 when anything piled up, or became dearer.
 * `--days`, `--tasks` and `--upgrade-on` (0 for none) make it smaller. Ended by SIGINT or SIGTERM, it says
 * what the days so far have shown.
 */
import { parseArgs } from 'node:util'
import { findExcesses, type Life } from './checks.ts'
import { defaultLogFile, liveLong } from './life.ts'
import type { DayReport } from './measure.ts'

const { values } = parseArgs({
  options: {
    days: { type: 'string', default: '90' },
    tasks: { type: 'string', default: '20000' },
    'upgrade-on': { type: 'string', default: '30' },
    log: { type: 'string', default: defaultLogFile() },
  },
})
const MIB = 1024 * 1024
const stopping = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stopping.abort())
process.stdout.write(
  `Logs of the runners: ${values.log}\n day  tasks  CPU ms, by the yardstick, statements and buffers a ` +
    'task   connections  MiB of heap and buffers, of the process, timers/sockets\n',
)
const days: DayReport[] = []
const life: Life = await liveLong({
  days: Number(values.days),
  tasks: Number(values.tasks),
  upgradeOn: Number(values['upgrade-on']),
  logFile: values.log,
  signal: stopping.signal,
  onDay: (report) => {
    days.push(report)
    const { day, tasks, cpuMs, yardstickMs, statements, buffers, connections, runners, trouble } = report
    const heaps = Object.entries(runners).map(
      ([name, { heapBytes, rssBytes, resources }]) =>
        `${name} ${(heapBytes / MIB).toFixed(1)} ` +
        `${(rssBytes / MIB).toFixed(0)} ${resources.Timeout ?? 0}/${resources.TCPSocketWrap ?? 0}`,
    )
    const cpu = cpuMs < 0 ? 'new server' : `${cpuMs.toFixed(2)} ${(cpuMs / yardstickMs).toFixed(4)}`
    const cells = [String(day).padStart(4), String(tasks).padStart(6), ` ${cpu}`, ` ${statements.toFixed(2)}`]
    cells.push(` ${buffers.toFixed(0)}  `, `${connections}  `, heaps.join(', '), ` ${trouble}`)
    process.stdout.write(`${cells.join(' ')}\n`)
  },
}).catch((error) => {
  if (!stopping.signal.aborted) throw error
  return { tasks: Number(values.tasks), days, bloat: [], aged: [], differences: 0, boughtTwice: 0, told: [] }
})
if (stopping.signal.aborted)
  process.stdout.write(
    `\nEnded by a signal after ${days.length} of ${values.days} days: what follows is what these have ` +
      'shown.\n',
  )
process.stdout.write(
  '\n table, rows, MiB after the last day, MiB freshly written, rows when all is too old\n',
)
for (const { table, rows, bytes, freshBytes } of life.bloat) {
  const aged = life.aged.find((each) => each.table === table)?.rows ?? 0
  if (rows + aged > 0)
    process.stdout.write(
      `${table}  ${rows}  ${(bytes / MIB).toFixed(1)}  ${(freshBytes / MIB).toFixed(1)}  ${aged}\n`,
    )
}
for (const { event, kind, afterMs } of life.told)
  process.stdout.write(`Of ${event} ${kind} was told after ${(afterMs / 1000).toFixed(1)} s.\n`)
const excesses = findExcesses(life)
for (const excess of excesses) process.stdout.write(`${excess}\n`)
if (excesses.length === 0 && days.length > 0)
  process.stdout.write('\nNothing was lost, bought twice or told late, and nothing piled up.\n')
process.exitCode = excesses.length === 0 ? 0 : 1
