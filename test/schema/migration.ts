/**
 * Writes the migration of the version that is under way anew: what src/db/schema says beyond the newest
 * released tables. It has three parts: tables and columns are added; `moves.sql` carries the data over; what
 * the schema does not name any more is dropped. After a conflict in a rebase take either side and run it
 * again.
 */
import { readFile, writeFile } from 'node:fs/promises'
import { generateDrizzleJson, generateMigration } from 'drizzle-kit/api'
import * as schema from '../../src/db/schema/index.ts'

const DRIZZLE = new URL('../../drizzle/', import.meta.url)
/**
 * The tables of the newest release, and the migration from them to the present ones. A release moves both on
 * by one.
 */
const RELEASED = '0001'
const UNDER_WAY = { idx: 2, tag: '0002_tables', when: 1795624000000 }
/** By which it is known, whenever it is made. */
const ID = '00000000-0000-4000-8000-000000000002'

type Snapshot = ReturnType<typeof generateDrizzleJson>
/** By name, which a snapshot's own type leaves open. */
type Tables = Record<string, { columns: Record<string, unknown> }>

const released: Snapshot = await readJson(`meta/${RELEASED}_snapshot.json`)
const present = generateDrizzleJson(schema)
// Through all that either has, because the generator asks on the terminal whether what goes and what comes is
// one renamed thing.
const both = withEverythingOf(released, present)
const moves = (await readFile(new URL('moves.sql', import.meta.url), 'utf8')).split(/^-{4}$/m)
const added = await generateMigration(released, both)
// The generator adds a key before the columns that it names.
const addsKey = (statement: string) => /^ALTER TABLE .* PRIMARY KEY\(/.test(statement)
const statements = [
  ...added.filter((statement) => !addsKey(statement)),
  ...added.filter(addsKey),
  ...moves,
  // The generator drops with CASCADE, which would take what a person made upon the table.
  ...(await generateMigration(both, present)).map((one) => one.replace(/^(DROP TABLE .*) CASCADE/, '$1')),
].map((statement) => statement.trim())

await writeFile(
  new URL(`${UNDER_WAY.tag}.sql`, DRIZZLE),
  `${statements.filter((statement) => statement !== '').join('\n--> statement-breakpoint\n')}\n`,
)
await writeJson(`meta/${UNDER_WAY.tag.slice(0, 4)}_snapshot.json`, {
  ...present,
  id: ID,
  prevId: released.id,
})
const journal = await readJson<{ entries: { idx: number }[] }>('meta/_journal.json')
const before = journal.entries.filter(({ idx }) => idx < UNDER_WAY.idx)
const entry = { ...UNDER_WAY, version: '7', breakpoints: true }
await writeJson('meta/_journal.json', { ...journal, entries: [...before, entry] })

/** The present tables, and beside them the tables and columns that only the released ones have. */
function withEverythingOf(old: Snapshot, now: Snapshot): Snapshot {
  const before = old.tables as Tables
  const tables = Object.entries(now.tables as Tables).map(([name, table]) => {
    const columns = { ...before[name]?.columns, ...table.columns }
    return [name, { ...table, columns }]
  })
  return { ...now, tables: { ...before, ...Object.fromEntries(tables) } }
}

async function readJson<T>(name: string): Promise<T> {
  return JSON.parse(await readFile(new URL(name, DRIZZLE), 'utf8'))
}

function writeJson(name: string, value: object): Promise<void> {
  return writeFile(new URL(name, DRIZZLE), `${JSON.stringify(value, null, 2)}\n`)
}
