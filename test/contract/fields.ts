/**
 * Fields of records: of what kind each is on the wire, and that the client gives the same under our name for
 * it.
 */

import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type { Json } from '../sandbox/caller.ts'
import { openClient, plainBody, startWireServer } from '../service/wire-server.ts'
import { covers, type Otherwise } from './covers.ts'
import { camel } from './form.ts'
import { ROWS } from './rows.ts'
import { KINDS, type KindName, readingOf, sampleOf } from './samples.ts'
import { once, type World } from './world.ts'

/** A kind of value: what the wire may hold, and what the client makes of it. */
export type Value = {
  what: string
  fits(sent: unknown): boolean
  read(sent: Json): unknown
  mayBeNull?: true
}

const asSent = (sent: Json): unknown => sent
const kindOf = (what: string, fits: Value['fits'], read = asSent): Value => ({ what, fits, read })

const isRecord = (sent: unknown): sent is Record<string, unknown> =>
  typeof sent === 'object' && sent !== null && !Array.isArray(sent)

const renameKeys = (sent: Json): unknown =>
  isRecord(sent) ? Object.fromEntries(Object.entries(sent).map(([key, value]) => [camel(key), value])) : sent

export const text = kindOf('text', (sent) => typeof sent === 'string' && sent !== '')
export const anyText = kindOf('text that may be empty', (sent) => typeof sent === 'string')
export const whole = kindOf('a whole number', Number.isInteger)
export const number = kindOf('a number', Number.isFinite)
export const flag = kindOf('true or false', (sent) => typeof sent === 'boolean')
export const record = kindOf('a record', isRecord, renameKeys)
export const dollars = kindOf('a number of dollars', Number.isFinite, (usd) => Math.round(usd * 1_000_000))
export const timestamp = kindOf(
  'a timestamp',
  (sent) => typeof sent === 'string' && /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \+00:00$/.test(sent),
  (sent) => new Date(`${sent.slice(0, 10)}T${sent.slice(11, 19)}Z`),
)
export const oneOf = (...values: readonly unknown[]): Value =>
  kindOf(values.join(' or '), (sent) => values.includes(sent))
export const listOf = ({ what, fits, read }: Value): Value =>
  kindOf(
    `a list, each ${what}`,
    (sent) => Array.isArray(sent) && sent.every(fits),
    (sent) => sent.map(read),
  )
export const nullOr = ({ what, fits, read }: Value): Value => ({
  what: `${what}, or null`,
  fits: (sent) => sent === null || fits(sent),
  read: (sent) => (sent === null ? null : read(sent)),
  mayBeNull: true,
})

/** The records that a field is in, as each side gets them, in the same order. */
export type Source = {
  of: string
  sent(): Promise<Json[]>
  read(): Promise<Json[]>
  /** What the client makes of the field of the first record when the service sends null there. */
  readNull?(t: TestContext, field: string, ours: string): Promise<unknown>
}

/** Records in the result of a task. */
export type ResultSource = Source & {
  name: KindName
  sentIn(result: Json): Json[]
  readIn(result: Json): Json[]
}

/**
 * The records that these functions find in the result of a task, as it was sent and as the client gives it.
 */
export const within = (
  name: KindName,
  sentIn: (result: Json) => Json[],
  readIn: (result: Json) => Json[] = sentIn,
): ResultSource => ({
  of: name,
  name,
  sentIn,
  readIn,
  sent: async () => sentIn((await sampleOf(name)).result),
  read: async () => readIn((await readingOf(name)).result),
  readNull: async (t, field, ours) => {
    const { fetched } = await sampleOf(name)
    const changed = structuredClone(fetched)
    sentIn(changed.tasks[0].result[0])[0][field] = null
    const server = await startWireServer(t, plainBody(200, JSON.stringify(changed)))
    const outcome = await KINDS[name].read(openClient(t, server.baseUrl), fetched.tasks[0].id)
    assert.ok(outcome.kind === 'done')
    return readIn(outcome.result)[0][ours]
  },
})

/** The records in a field of each record. */
export const inside = ({ name, sentIn, readIn }: ResultSource, field: string): ResultSource => ({
  ...within(
    name,
    (result) => sentIn(result).flatMap((each) => each[field]),
    (result) => readIn(result).flatMap((each) => each[camel(field)]),
  ),
  of: `the ${field} of ${name}`,
})

/** The records of one list, which each side asks for once. */
export const listed = (
  of: string,
  open: () => Promise<World>,
  ask: { fetch(world: World): Promise<Json[]>; client(world: World): Promise<Json[]> },
): Source => ({
  of,
  sent: once(async () => ask.fetch(await open())),
  read: once(async () => ask.client(await open())),
})

/** Our name for a field, where it is not the wire's in camel case. */
type Named = readonly [value: Value, ours: string]

const checkSent = async (sources: readonly Source[], field: string, { what, fits }: Value): Promise<void> => {
  for (const source of sources) {
    const records = await source.sent()
    assert.ok(records.length > 0, `${source.of}: there is no record to look at`)
    for (const each of records) {
      assert.ok(Object.hasOwn(each, field), `${source.of}: ${field} is missing`)
      assert.ok(fits(each[field]), `${source.of}: ${field} is ${JSON.stringify(each[field])}, not ${what}`)
    }
  }
}

const checkRead = async (
  t: TestContext,
  sources: readonly Source[],
  field: string,
  [value, ours]: Named,
): Promise<void> => {
  for (const source of sources) {
    const [sent, read] = [await source.sent(), await source.read()]
    assert.deepEqual(
      read.map((each) => each[ours]),
      sent.map((each) => value.read(each[field])),
      `${source.of}: ${ours} is not what was sent as ${field}`,
    )
    if (value.mayBeNull && source.readNull) assert.equal(await source.readNull(t, field, ours), null)
  }
}

/** Covers the row of each field in all these sources. */
export const coverFields = (
  prefix: string,
  sources: readonly Source[],
  fields: Readonly<Record<string, Value | Named>>,
  otherwise: Otherwise = [],
): void => {
  const where = sources.map(({ of }) => of).join(' and ')
  for (const [field, given] of Object.entries(fields)) {
    const named: Named = 'what' in given ? [given, camel(field)] : given
    const sides = {
      fetch: () => checkSent(sources, field, named[0]),
      client: (_world: unknown, t: TestContext) => checkRead(t, sources, field, named),
    }
    covers(`${prefix}.${field}`, `is ${named[0].what} in ${where}`, sides, otherwise)
  }
}

/** The fields that the rows give a record, in alphabetical order. */
const fieldsOf = (prefix: string): string[] => {
  const own = [...ROWS]
    .filter((row) => row.startsWith(`${prefix}.`))
    .map((row) => row.slice(prefix.length + 1))
  return [...new Set(own.map((field) => field.split('.')[0] ?? ''))].sort()
}

/**
 * Records have every field that there is a row for, `less` some and with some `more`, and no other; the
 * client loses none of them.
 */
export const coverShape = (
  row: string | readonly string[],
  prefix: string,
  sources: readonly Source[],
  less: readonly string[] = [],
  more: readonly string[] = [],
): void => {
  const fields = [...fieldsOf(prefix).filter((field) => !less.includes(field)), ...more].sort()
  const where = sources.map(({ of }) => of).join(' and ')
  covers(row, `stands with ${fields.length} fields of ${prefix} and no others in ${where}`, {
    fetch: async () => {
      for (const source of sources) {
        for (const each of await source.sent()) assert.deepEqual(Object.keys(each).sort(), fields, source.of)
      }
    },
    client: async () => {
      for (const source of sources) {
        assert.equal((await source.read()).length, (await source.sent()).length, source.of)
      }
    },
  })
}
