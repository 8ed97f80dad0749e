/** The table of a run. */

import { type Blows, countBlows } from './blows.ts'
import type { Findings } from './books.ts'
import { FAIL_POINTS } from './rewrite.ts'
import { listSpared } from './troubles.ts'
import type { Trouble } from './wire.ts'

export interface Report {
  readonly seed: number
  readonly guardOff: string | null
  readonly blows: Blows
  readonly troubles: ReadonlyMap<Trouble, number>
  readonly disturbedMs: number
  readonly settledMs: number
  /** Over all runners, as the wire saw it. */
  readonly mostInFlight: number
  readonly findings: Findings & Deaths
}

export interface Deaths {
  /** Runners that ended although nobody ended them. */
  readonly died: number
}

/** What must be 0, and how the table calls it. */
export const FAULTS = {
  chargedTwice: 'charged twice',
  lost: 'lost',
  madeUp: 'made up',
  moneyDiffers: 'money differs',
  overBudget: 'over budget (days)',
  overCallLimit: 'over the call limit (calls)',
  silent: 'silent slots',
  unsettled: 'not settled',
  died: 'runners that ended by themselves',
} as const satisfies Partial<Record<keyof (Findings & Deaths), string>>

export type Fault = keyof typeof FAULTS

export function printReport(report: Report): void {
  const { blows, findings } = report
  const at = (kind: string, place: string) => blows.get(`${kind}: ${place}`) ?? 0
  const places = [...Object.keys(FAIL_POINTS), 'at a random instant']
  const rows = places.map((place): Row => [place, at('kill', place), at('freeze', place), at('cut', place)])
  // A place that is never struck proves nothing, so it is shown.
  const isRandom = blows.size > 0
  const missed = rows.filter(([, ...times]) => times.every((time) => time === 0))
  const others = [...blows].filter(
    ([name]) => !places.some((place) => name.endsWith(`: ${place}`)) || name.startsWith('SIGTERM'),
  )
  print([['where', 'killed', 'frozen', 'cut off'], ...(isRandom ? rows : [])])
  const atTheWire = [...report.troubles].map(([name, times]): Row => [`wire: ${name}`, times])
  print([...others, ...atTheWire].toSorted(([a], [b]) => String(a).localeCompare(String(b))))
  print([
    ['blows', countBlows(blows)],
    ['of these, runners killed (-9)', countBlows(blows, /^kill: /)],
    ...(isRandom ? [['places never struck', missed.length] as const] : []),
    ['most requests in flight', report.mostInFlight],
    ...listFindings(findings),
  ])
  const spared = isRandom ? listSpared(blows) : []
  if (spared.length > 0) process.stdout.write(`NEVER STRUCK, so nothing is shown of: ${spared.join(', ')}\n`)
  for (const sample of findings.samples) process.stdout.write(`${sample}\n`)
  const guard = report.guardOff === null ? '' : `, guard ${report.guardOff} off`
  const verdict = isClean(findings) ? 'CLEAN' : 'NOT CLEAN'
  const seconds = Math.round(report.disturbedMs / 1000)
  process.stdout.write(
    `${verdict}: ${countBlows(blows)} blows in ${seconds} s, settled within ` +
      `${Math.round(report.settledMs / 1000)} s, seed ${report.seed}${guard}\n`,
  )
}

/** What was found, and what must be 0. */
export function listFindings(findings: Findings & Deaths): Row[] {
  const { tasks, captures, gaps } = findings
  return [
    ['tasks paid for', tasks],
    ['results stored', captures],
    ...Object.entries(gaps).map(([gap, slots]): Row => [`slots without a result: ${gap}`, slots]),
    ...Object.entries(FAULTS).map(([fault, name]): Row => [name, findings[fault as Fault]]),
  ]
}

export function isClean(findings: Findings & Deaths): boolean {
  return findings.tasks > 0 && Object.keys(FAULTS).every((fault) => findings[fault as Fault] === 0)
}

type Row = readonly (string | number)[]

function print(rows: readonly Row[]): void {
  const width = Math.max(...rows.map(([name]) => String(name).length))
  for (const [name, ...cells] of rows) {
    process.stdout.write(
      `${String(name).padEnd(width)}${cells.map((cell) => String(cell).padStart(9)).join('')}\n`,
    )
  }
  process.stdout.write('\n')
}
