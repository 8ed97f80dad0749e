/**
 * Rows as Parquet. Whole numbers, truth values, days and instants (to the microsecond) keep their types,
 * `numeric` becomes a double, and everything else is text as Postgres writes it; in an archive arrays are
 * lists.
 */
import type { SchemaElement } from 'hyparquet'
import { ByteWriter, ParquetWriter } from 'hyparquet-writer'
import { parse as parseArray } from 'postgres-array'
import type { Cells, Column } from '../../db/session.ts'

/** A value as the file has it, and as hyparquet reads it with PARSERS. */
export type Value = string | number | bigint | boolean | readonly (Value | null)[]

interface ColumnType {
  readonly element: Omit<SchemaElement, 'name'>
  readonly isList?: true
  parse(text: string): Value | null
}

const DAY_MS = 86_400_000
const MICROS_PER_MS = 1000n
/** A row group is held in memory: so many rows or letters. A cell takes as much as CELL_LETTERS besides. */
const GROUP_ROWS = 50_000
const GROUP_LETTERS = 16_000_000
const CELL_LETTERS = 24

const TEXT: ColumnType = { element: { type: 'BYTE_ARRAY', converted_type: 'UTF8' }, parse: String }
const WHOLE: ColumnType = { element: { type: 'INT32' }, parse: Number }
const LARGE: ColumnType = { element: { type: 'INT64' }, parse: BigInt }
const REAL: ColumnType = { element: { type: 'DOUBLE' }, parse: Number }

/** By the type's OID. */
const TYPES: Readonly<Record<number, ColumnType>> = {
  16: { element: { type: 'BOOLEAN' }, parse: (text) => text === 't' },
  20: LARGE,
  21: WHOLE,
  23: WHOLE,
  26: LARGE,
  700: REAL,
  701: REAL,
  1700: REAL,
  1082: { element: { type: 'INT32', converted_type: 'DATE' }, parse: parseDay },
  1114: timestamp(false),
  1184: timestamp(true),
}

/** Of one dimension. */
const LISTS: Readonly<Record<number, ColumnType>> = { 1005: list(WHOLE), 1007: list(WHOLE), 1009: list(TEXT) }

function list({ element, parse }: ColumnType): ColumnType {
  return {
    element,
    isList: true,
    parse: (text) => parseArray(text, parse),
  }
}

function timestamp(isAdjustedToUTC: boolean): ColumnType {
  const element: ColumnType['element'] = {
    type: 'INT64',
    logical_type: { type: 'TIMESTAMP', isAdjustedToUTC, unit: 'MICROS' },
    ...(isAdjustedToUTC ? { converted_type: 'TIMESTAMP_MICROS' as const } : {}),
  }
  return { element, parse: parseInstant }
}

/**
 * A file: `add` takes rows and gives the bytes that they complete, if any, and `end` the rest.
 * @param hasLists whether arrays are lists, and not text
 */
export function openParquet(columns: readonly Column[], hasLists = false) {
  const typed = columns.map((column) => ({ ...column, ...typeOf(column, hasLists) }))
  const bytes = new ByteWriter()
  const schema = [{ name: 'root', num_children: columns.length }, ...typed.flatMap(describeColumn)]
  const file = new ParquetWriter({ writer: bytes, schema, createdBy: 'storerank' })
  let rows: Cells[] = []
  let letters = 0
  const writeGroup = () => {
    const columnData = typed.map(({ name, parse }, n) => ({
      name,
      data: rows.map((row) => (row[n] == null ? null : parse(row[n]))),
    }))
    file.write({ columnData, rowGroupSize: rows.length })
    rows = []
    letters = 0
  }
  const take = () => {
    const taken = bytes.getBytes().slice()
    bytes.index = 0
    return taken
  }
  return {
    add(batch: readonly Cells[]): Uint8Array {
      for (const row of batch) {
        rows.push(row)
        for (const cell of row) letters += CELL_LETTERS + (cell?.length ?? 0)
        if (rows.length >= GROUP_ROWS || letters >= GROUP_LETTERS) writeGroup()
      }
      return take()
    },
    end(): Uint8Array {
      if (rows.length > 0) writeGroup()
      file.finish()
      return take()
    },
  }
}

function typeOf({ type }: Column, hasLists: boolean): ColumnType {
  return (hasLists ? LISTS[type] : undefined) ?? TYPES[type] ?? TEXT
}

/** How the value of a cell stands in a file with lists. */
export function valueParser(column: Column): (cell: string | null) => Value | null {
  const { parse } = typeOf(column, true)
  return (cell) => (cell === null ? null : parse(cell))
}

/** Instants and days as numbers, as they stand in the file: a Date has no microseconds. */
export const PARSERS = {
  timestampFromMicroseconds: (micros: bigint) => micros,
  dateFromDays: (days: number) => days,
}

function describeColumn({ name, element, isList }: Column & ColumnType): SchemaElement[] {
  const optional = { repetition_type: 'OPTIONAL' } as const
  if (!isList) return [{ ...element, ...optional, name }]
  return [
    { ...optional, name, converted_type: 'LIST', num_children: 1 },
    { name: 'list', repetition_type: 'REPEATED', num_children: 1 },
    { ...element, ...optional, name: 'element' },
  ]
}

/** Days since 1970; infinite ones have no place in the format. */
function parseDay(text: string): number | null {
  const ms = Date.parse(`${text}T00:00:00Z`)
  return Number.isNaN(ms) ? null : Math.floor(ms / DAY_MS)
}

/** Microseconds since 1970, of `2026-01-31 04:05:06.123456+00` and the same without an offset. */
function parseInstant(text: string): bigint | null {
  const [, date, time, fraction = '', offset = '+00'] =
    /^(\d{4,}-\d\d-\d\d) (\d\d:\d\d:\d\d)(?:\.(\d+))?([+-]\d\d(?::\d\d)?)?$/.exec(text) ?? []
  const ms = Date.parse(`${date}T${time}${offset.length === 3 ? `${offset}:00` : offset}`)
  return Number.isNaN(ms) ? null : BigInt(ms) * MICROS_PER_MS + BigInt(fraction.padEnd(6, '0'))
}
