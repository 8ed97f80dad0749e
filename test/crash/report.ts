/** The table of a run. */

import { type Blows, countBlows } from './blows.ts'
import { type Findings, isClean } from './books.ts'
import { FAIL_POINTS } from './rewrite.ts'
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
  readonly findings: Findings
}

export function printReport(report: Report): void {
  const { blows, findings } = report
  const at = (kind: string, place: string) => blows.get(`${kind}: ${place}`) ?? 0
  const places = [...Object.keys(FAIL_POINTS), 'at a random instant']
  const rows = places
    .map((place): Row => [place, at('kill', place), at('freeze', place), at('cut', place)])
    .filter(([, ...times]) => times.some((time) => Number(time) > 0))
  const others = [...blows].filter(
    ([name]) => !places.some((place) => name.endsWith(`: ${place}`)) || name.startsWith('SIGTERM'),
  )
  print([['where', 'killed', 'frozen', 'cut off'], ...rows])
  print([...others, ...[...report.troubles].map(([name, times]): Row => [`wire: ${name}`, times])])
  print([
    ['tasks paid for', findings.tasks],
    ['results stored', findings.captures],
    ...Object.entries(findings.gaps).map(([gap, slots]): Row => [`slots without a result: ${gap}`, slots]),
    ['most requests in flight', report.mostInFlight],
    ['charged twice', findings.chargedTwice],
    ['lost', findings.lost],
    ['made up', findings.madeUp],
    ['money differs', findings.moneyDiffers],
    ['over budget (days)', findings.overBudget],
    ['over the call limit (calls)', findings.overCallLimit],
    ['silent slots', findings.silent],
    ['not settled', findings.unsettled],
  ])
  for (const sample of findings.samples) process.stdout.write(`${sample}\n`)
  const guard = report.guardOff === null ? '' : `, guard ${report.guardOff} off`
  const verdict = isClean(findings) ? 'CLEAN' : 'NOT CLEAN'
  const seconds = Math.round(report.disturbedMs / 1000)
  process.stdout.write(
    `${verdict}: ${countBlows(blows)} blows in ${seconds} s, settled within ${Math.round(report.settledMs / 1000)} s, seed ${report.seed}${guard}\n`,
  )
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
