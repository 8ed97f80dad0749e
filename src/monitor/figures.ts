/** All that an operator watches, read by a few cheap statements, and what is wrong with it. */
import pLimit from 'p-limit'
import type { Database } from '../db/database.ts'
import { oneRow } from '../db/one-row.ts'
import { readOpenWork } from '../report/status.ts'
import type { MonitorSettings, Open, Source } from './figure.ts'
import { SOURCES } from './sources.ts'

export type Figures = { readonly at: Date } & {
  readonly [Name in keyof typeof SOURCES]: (typeof SOURCES)[Name] extends Source<infer Read> ? Read : never
}

/** With few connections, and in a third of the round trips. */
const SOURCES_AT_ONCE = 3

const SOURCE_LIST = Object.entries<Source<unknown>>(SOURCES) as [keyof typeof SOURCES, Source<unknown>][]

export async function readFigures(db: Database, settings: MonitorSettings): Promise<Figures> {
  const { at } = oneRow(await db.sql<{ at: Date }[]>`select clock_timestamp() as at`)
  const rows = await readOpenWork(db)
  const open = Object.fromEntries(rows.map((row) => [row.kind, row])) as Open
  const inTurn = pLimit(SOURCES_AT_ONCE)
  const read = await inTurn.map(SOURCE_LIST, async ([name, source]) => [
    name,
    await source.read({ db, settings, open }),
  ])
  return { at, ...Object.fromEntries(read) }
}

/** What the lines of `status --check` begin with. */
export const TROUBLE_KINDS = SOURCE_LIST.flatMap(([, { troubles = {} }]) => Object.keys(troubles))

/** Pure: everything that a person should see to, the most urgent first. */
export function findTroubles(figures: Figures): { readonly kind: string; readonly message: string }[] {
  const isHeld = figures.restoreHold !== null || figures.outage !== null
  return SOURCE_LIST.flatMap(([name, { troubles = {} }]) =>
    Object.entries(troubles).flatMap(([kind, says]) => {
      const messages = says(figures[name], isHeld, figures.at) ?? []
      return [messages].flat().map((message) => ({ kind, message }))
    }),
  )
}

/** Each metric of the database, with its value. */
export function listMetrics(figures: Figures) {
  const ofSources = SOURCE_LIST.flatMap(([source, { figures: declared = {} }]) =>
    Object.entries(declared).map(([name, { value, ...figure }]) => ({
      name,
      ...figure,
      value: value(figures[source], figures.at),
    })),
  )
  const byKind = Map.groupBy(findTroubles(figures), ({ kind }) => kind)
  const troubles = {
    name: 'troubles',
    help: 'What `storerank status --check` finds wrong, by kind.',
    labels: ['kind'],
    value: [...byKind].map(([kind, { length }]) => ({ labels: { kind }, value: length })),
  }
  return [...ofSources, troubles]
}
