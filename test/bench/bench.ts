/**
 * `npm run bench -- NAME…` measures these benches one after the other, and prints one table: what each took,
 * beside its bar. `NAME=SIZE` takes another size, of which the figures are told and nothing is held against a
 * bar. Without names it lists them all; `npm run bench:all` measures all, in half an hour on idle cores, with
 * 8 GB of disk. It ends with 1 when a bar is missed or a bench fails. TEST_DATABASE_URL is the server, else a
 * temporary one, durable as in production. Linux only.
 */
import { parseArgs } from 'node:util'
import { drawRows } from '../support/rows.ts'
import { type Bench, type Figure, isMet, show, showBar } from './bars.ts'
import { BENCHES } from './benches.ts'
import { isEnded, withDatabase } from './database.ts'

const WIDTH = 150

interface Asked {
  readonly name: string
  readonly bench: Bench
  readonly size: number
}

function readAsked(text: string): Asked {
  const [name = '', size] = text.split('=')
  const bench = BENCHES[name]
  if (bench === undefined)
    throw new Error(`No bench is called ${name}; there are ${Object.keys(BENCHES).join(', ')}.`)
  return { name, bench, size: size === undefined ? bench.size : Number(size) }
}

/** The rows of a bench; the last cell says what is missed. */
async function run({ name, bench, size }: Asked): Promise<string[][]> {
  process.stderr.write(`${name}: ${size.toLocaleString('en')} ${bench.of}\n`)
  const measured = await withDatabase((db) => bench.measure(db, size))
  return Object.entries(measured).map(([what, figure]) => {
    const { value, unit } = figure
    const held: Figure = size === bench.size ? figure : { value, unit }
    return [name, what, show(value, unit), showBar(held), isMet(held) ? '' : '✗']
  })
}

/** One that fails has a row, and the next ones go on, unless the whole is ended by a signal. */
async function runAll(asked: readonly Asked[]): Promise<string[][]> {
  const rows: string[][] = []
  for (const one of asked) {
    if (isEnded()) break
    try {
      rows.push(...(await run(one)))
    } catch (error) {
      rows.push([one.name, String(error), '', '', '✗'])
    }
  }
  return rows
}

function list(): string {
  const rows = Object.entries(BENCHES).map(([name, { what, size, of }]) => [
    name,
    what,
    `${size.toLocaleString('en')} ${of}`,
  ])
  return drawRows(['bench', 'what it measures', 'size'], rows, WIDTH)
}

const { values, positionals } = parseArgs({ allowPositionals: true, options: { all: { type: 'boolean' } } })
const asked = (values.all ? Object.keys(BENCHES) : positionals).map(readAsked)
if (asked.length === 0) process.stdout.write(list())
else {
  const rows = await runAll(asked)
  const missed = [...new Set(rows.filter((row) => row.at(-1) !== '').map(([name]) => name))]
  process.stdout.write(drawRows(['bench', 'what', 'measured', 'bar', ''], rows, WIDTH))
  const verdict = missed.length === 0 ? 'No bar is missed.' : `Bars are missed: ${missed.join(', ')}.`
  process.stdout.write(`${verdict}\n`)
  process.exitCode = missed.length === 0 && !isEnded() ? 0 : 1
}
process.exit()
