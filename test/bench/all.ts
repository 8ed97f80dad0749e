/**
 * Every bench that has a bar, one after the other, each as a process of its own, and in the end one table of
 * all bars. It takes about half an hour on idle cores, 8 GB of disk, and ends with 1 when a bar is missed or
 * a bench fails. `-- ledger plan` runs those two.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { drawRows } from '../support/rows.ts'
import { isHeld, isMet, NOTES_VARIABLE, readNotes, showBar } from './bars.ts'

/** File and arguments by which each is held against all of its bars. */
const BENCHES: Readonly<Record<string, readonly [file: string, ...args: string[]]>> = {
  results: ['results'],
  postbacks: ['postbacks'],
  store: ['store'],
  ledger: ['ledger'],
  plan: ['plan', '--watches', '1000000'],
  watches: ['watches', '100000'],
  reports: ['reports'],
  decade: ['reports', '--days', '3650'],
  alerts: ['alerts'],
  calls: ['call-window'],
  run: ['whole-run'],
  lifted: ['whole-run', '--lifted'],
  idle: ['idle'],
  command: ['command'],
  scale: ['scale'],
}

interface Outcome {
  readonly name: string
  readonly rows: readonly (readonly string[])[]
  readonly isMet: boolean
}

async function run(name: string, notes: string): Promise<Outcome> {
  const [file, ...args] = BENCHES[name] ?? [name]
  process.stderr.write(`\n${name}\n`)
  await writeFile(notes, '')
  const bench = spawn(process.execPath, [join(import.meta.dirname, `${file}.ts`), ...args], {
    env: { ...process.env, [NOTES_VARIABLE]: notes },
    stdio: ['ignore', 2, 2],
  })
  const [exitCode] = await once(bench, 'exit')
  const bars = readNotes(notes).flatMap(({ title, bars }) =>
    bars.filter(isHeld).map((bar) => ({ cells: [title, ...showBar(bar)], met: isMet(bar) })),
  )
  const allMet = bars.length > 0 && bars.every(({ met }) => met)
  const rows = bars.map(({ cells, met }) => [name, ...cells, met ? '' : '✗'])
  // One that fails beside its bars has a line of its own.
  if (exitCode !== (allMet ? 0 : 1) || bars.length === 0)
    rows.push([name, '', `ended with ${exitCode}`, '', '', '✗'])
  return { name, rows, isMet: allMet && exitCode === 0 }
}

const { positionals } = parseArgs({ allowPositionals: true })
const unknown = positionals.filter((name) => !(name in BENCHES))
if (unknown.length > 0) {
  process.stderr.write(
    `No bench is called ${unknown.join(', ')}; there are ${Object.keys(BENCHES).join(', ')}.\n`,
  )
  process.exit(2)
}
const folder = await mkdtemp(join(tmpdir(), 'storerank-bench-'))
const outcomes: Outcome[] = []
try {
  for (const name of positionals.length === 0 ? Object.keys(BENCHES) : positionals) {
    outcomes.push(await run(name, join(folder, 'bars.jsonl')))
  }
} finally {
  await rm(folder, { recursive: true, force: true })
}
const header = ['bench', 'of', 'what', 'measured', 'bar', '']
process.stdout.write(
  drawRows(
    header,
    outcomes.flatMap(({ rows }) => rows),
    160,
  ),
)
const missed = outcomes.filter((outcome) => !outcome.isMet).map(({ name }) => name)
process.stdout.write(
  missed.length === 0 ? 'All bars are met.\n' : `Not all bars are met: ${missed.join(', ')}.\n`,
)
if (missed.length > 0) process.exitCode = 1
