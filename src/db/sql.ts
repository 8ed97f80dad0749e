/**
 * A statement is data: pieces of text, and the values and statements that stand between them. It is made
 * without a connection, nested freely, and does nothing by itself: a connection or a transaction sends it.
 *
 *     const isOld = sql`posted_at < ${instant}`
 *     const rows = await tx<{ id: number }[]>`select id from task where ${isOld}`
 */

type Single = string | number | bigint | boolean | Date | Uint8Array | null
/** What Postgres is told as a parameter. JSON is told as text: `${JSON.stringify(x)}::text::jsonb`. */
export type Value = Single | readonly Value[]
export type Part = Value | Statement

export class Statement {
  readonly texts: readonly string[]
  /** One fewer than texts. */
  readonly parts: readonly Part[]

  constructor(texts: readonly string[], parts: readonly Part[]) {
    this.texts = texts
    this.parts = parts
  }
}

/** The fields that columns such as `taskId uuid, depth int` name. */
export type FieldsOf<Columns extends string> = Columns extends `${infer First},${infer Rest}`
  ? FieldsOf<First> | FieldsOf<Rest>
  : Columns extends `${' ' | '\n'}${infer Trimmed}`
    ? FieldsOf<Trimmed>
    : Columns extends `${infer Field} ${string}`
      ? Field
      : never

function make(texts: TemplateStringsArray, ...parts: readonly Part[]): Statement {
  return new Statement(texts, parts)
}

export const sql = Object.assign(make, {
  /** The name of a table, a column or a database; with dots: `schema.table`. */
  identifier(text: string): Statement {
    return sql.raw(quote(text))
  },
  /** Names with commas between. */
  identifiers(texts: readonly string[]): Statement {
    return sql.raw(texts.map(quote).join(', '))
  },
  /** What an `insert` puts into a table, `(columns) values (values)`: one row, or several like it. */
  row(...rows: readonly Readonly<Record<string, Part>>[]): Statement {
    const values = rows.map((row) => sql`(${sql.join(Object.values(row).map(toStatement), ', ')})`)
    return sql`(${sql.identifiers(Object.keys(rows[0] ?? {}))}) values ${sql.join(values, ', ')}`
  },
  /**
   * A relation for `from`: a row for each object, its fields as columns with their names in snake case. What
   * is undefined is null, and objects of a `jsonb` are written as such.
   *
   *     select r.depth from ${sql.rows('r', tasks, 'taskId uuid, depth int')} join task k on k.id = r.task_id
   */
  rows<Row extends object, const Columns extends string>(
    alias: string,
    rows: readonly Row[],
    columns: FieldsOf<Columns> extends keyof Row ? Columns : never,
  ): Statement {
    const arrays = readColumns(columns).map(([field, type]) => {
      const values = rows.map((row) => row[field as keyof Row] ?? null)
      const written = type === 'jsonb' ? values.map((value) => value && JSON.stringify(value)) : values
      return sql`${written as Value}::${sql.raw(type)}[]`
    })
    return sql`unnest(${sql.join(arrays, ', ')}) as ${sql.raw(alias)} (${sql.columns(columns)})`
  },
  /** The names of such columns, with commas between; behind an alias: `excluded.depth, excluded.html`. */
  columns(columns: string, alias?: string): Statement {
    const before = alias === undefined ? '' : `${alias}.`
    const names = readColumns(columns).map(([field]) => before + toSnakeCase(field))
    return sql.raw(names.join(', '))
  },
  join(statements: readonly Statement[], separator: string): Statement {
    if (statements.length === 0) return sql.raw('')
    const between = Array.from({ length: statements.length - 1 }, () => separator)
    return new Statement(['', ...between, ''], statements)
  },
  /** Text that is SQL already: never what a person wrote. */
  raw(text: string): Statement {
    return new Statement([text], [])
  },
})

/** A statement as the server takes it. */
export interface Rendered {
  /** With $1, $2, … */
  readonly text: string
  readonly values: readonly Single[]
}

/**
 * Each connection keeps the text of what it has prepared: all keep the same string. Texts are as many as the
 * program has.
 */
const known = new Map<string, string>()

/** @throws TypeError for what is neither a value nor a statement, as a promise is */
export function render(statement: Statement): Rendered {
  const values: Single[] = []
  const text = write(statement, values)
  if (!known.has(text)) known.set(text, text)
  return { text: known.get(text) ?? text, values }
}

function write({ texts, parts }: Statement, values: Single[]): string {
  return texts.reduce((before, text, n) => {
    const part = parts[n - 1] as Part
    if (part instanceof Statement) return before + write(part, values) + text
    return `${before}$${values.push(toParameter(part))}${text}`
  })
}

/**
 * The driver writes single values; of arrays it would have to ask the server for the type.
 * @throws TypeError for what is no value, as a promise is
 */
export function toParameter(value: Value): Single {
  if (Array.isArray(value)) return `{${value.map(toElement).join()}}`
  if (isValue(value)) return value
  throw new TypeError(
    `A statement takes values and statements, and was given ${Object.prototype.toString.call(value)}.`,
  )
}

function isValue(value: unknown): value is Single {
  if (typeof value === 'object') return value === null || value instanceof Date || value instanceof Uint8Array
  return ['string', 'number', 'bigint', 'boolean'].includes(typeof value)
}

function toElement(value: Value): string {
  if (Array.isArray(value)) return toParameter(value) as string
  const single = toParameter(value)
  if (single === null) return 'null'
  return `"${toText(single).replaceAll(/["\\]/g, '\\$&')}"`
}

function toText(value: Exclude<Single, null>): string {
  if (value instanceof Date) return value.toISOString()
  return value instanceof Uint8Array ? `\\x${Buffer.from(value).toString('hex')}` : String(value)
}

function readColumns(columns: string): [field: string, type: string][] {
  return columns.split(',').map((column) => column.trim().split(' ') as [string, string])
}

function toSnakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

function toStatement(part: Part): Statement {
  return part instanceof Statement ? part : sql`${part}`
}

function quote(name: string): string {
  return name
    .split('.')
    .map((part) => `"${part.replaceAll('"', '""')}"`)
    .join('.')
}
