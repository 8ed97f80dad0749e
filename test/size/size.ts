/**
 * Prints how large the project is and how much of it is hard to read, beside what it is to be and what it may
 * be at most today. It fails when a number is above that: `.ci/run` asks it. `npm run size -- --accept`
 * writes today's numbers as the limits.
 */
import { readFile, writeFile } from 'node:fs/promises'
import process from 'node:process'
import { drawRows } from '../support/rows.ts'
import { listLongLines, measureProject } from './measure.ts'

const LIMITS = new URL('limits.json', import.meta.url)
/** Where the house is to be (numbers without one are to be 0). */
const GOALS: Readonly<Record<string, number>> = {
  'lines of src and jobs': 29_000,
  'lines of SQL': 4_200,
  'lines of tests': 46_000,
  'words of docs': 17_000,
  tables: 42,
  'most common table expressions in one statement': 12,
  'enable_*': 17,
  'offset 0': 26,
  materialized: 48,
  "(select 'literal')": 15,
  'files that import the driver': 2,
  'as Fragment, as never, as unknown as': 5,
  'longest file': 400,
}

const sizes = measureProject()
if (process.argv.includes('--accept')) await writeFile(LIMITS, `${JSON.stringify(sizes, null, 2)}\n`)
const limits: Record<string, number> = JSON.parse(await readFile(LIMITS, 'utf8'))
const rows = Object.entries(sizes).map(([what, value]) => [what, value, limits[what] ?? 0, GOALS[what] ?? 0])
process.stdout.write(drawRows(['what', 'now', 'at most', 'goal'], rows))
const over = Object.entries(sizes).filter(([what, value]) => value > (limits[what] ?? 0))
for (const [what, value] of over) {
  process.stderr.write(`${what}: ${value} is more than ${limits[what] ?? 0}.\n`)
}
const long = listLongLines()
for (const line of long) process.stderr.write(`${line} is longer than 110 columns.\n`)
if (over.length > 0) {
  process.stderr.write(
    'Cut as much elsewhere, or write these numbers as the limits: npm run size -- --accept.\n',
  )
}
process.exitCode = over.length + long.length === 0 ? 0 : 1
