/**
 * What an assistant may read: each function that answers a question about a project, and each view and table
 * that storerank_reader may read, found in the catalogue of the database. What is asked for becomes one
 * statement with parameters: no SQL of the asker's is run, so that none can take another role.
 */
import type { Database } from '../db/database.ts'
import { ConfigurationError } from '../errors.ts'
import { nameKnown } from '../suggest.ts'

const MOST_ROWS = 1000
const USUAL_ROWS = 200
const MOST_CHARACTERS = 200_000
const OPERATORS = ['=', '<>', '<', '<=', '>', '>=', 'is null', 'is not null', 'ilike']

type Input = Readonly<Record<string, unknown>>
export type AssistantTool = ReturnType<typeof tool>

/** What an assistant may call, with the properties of its JSON Schema; it reads what `run` returns. */
export function tool(
  name: string,
  description: string,
  properties: Input,
  required: readonly string[],
  run: (input: Input) => Promise<string>,
) {
  const inputSchema = { type: 'object', properties, required, additionalProperties: false } as const
  return { name, description, inputSchema, run }
}

interface Column {
  readonly name: string
  readonly type: string
  readonly help: string | null
}

interface Source {
  readonly name: string
  readonly help: string
  readonly columns: readonly Column[]
}

export interface AskedFunction extends Source {
  /** Those that may be left out come last. */
  readonly args: readonly { readonly name: string; readonly type: string; readonly isNeeded: boolean }[]
}

/** @param db as the owner, who sees the whole catalogue; @param reader as storerank_reader */
export async function readQueryTools(db: Database, reader: Database): Promise<AssistantTool[]> {
  const [functions, relations] = [await readFunctions(db), await readRelations(db)]
  return [
    ...functions.map((each) => toFunctionTool(reader, each)),
    toDescribeTool(relations),
    toReadTool(reader, relations),
  ]
}

/** A function that people ask takes a project, and more that may be left out; others are parts of these. */
export async function readFunctions({ sql }: Database): Promise<AskedFunction[]> {
  return sql<AskedFunction[]>`
    with meaning as (
      select a.attname as name, mode() within group (order by col_description(a.attrelid, a.attnum)) as help
      from pg_attribute a join pg_class c on c.oid = a.attrelid
      where c.relnamespace = 'public'::regnamespace and c.relkind = 'v' and a.attnum > 0
      group by a.attname
    ),
    argument as (
      select p.oid, u.n, coalesce(p.proargmodes[u.n], 'i') as mode, p.proargnames[u.n] as name,
        format_type(u.type, null) as type, u.n <= p.pronargs - p.pronargdefaults as is_needed
      from pg_proc p
      cross join unnest(coalesce(p.proallargtypes, p.proargtypes::oid[])) with ordinality u(type, n)
      where p.pronamespace = 'public'::regnamespace and p.proretset and p.provolatile <> 'v'
        and p.proargnames[1] = 'in_project' and p.pronargdefaults > 0
        and has_function_privilege('storerank_reader', p.oid, 'execute')
    )
    select p.proname as name, coalesce(obj_description(p.oid, 'pg_proc'), '') as help,
      (select json_agg(
          json_build_object('name', a.name, 'type', a.type, 'isNeeded', a.is_needed) order by a.n)
        from argument a where a.oid = p.oid and a.mode = 'i') as args,
      (select coalesce(json_agg(
          json_build_object('name', a.name, 'type', a.type, 'help', m.help) order by a.n), '[]')
        from argument a left join meaning m using (name) where a.oid = p.oid and a.mode = 't') as columns
    from pg_proc p where p.oid in (select oid from argument) order by p.proname`
}

async function readRelations({ sql }: Database): Promise<Source[]> {
  return sql<Source[]>`
    select c.relname as name, coalesce(obj_description(c.oid, 'pg_class'), '') as help,
      json_agg(json_build_object('name', a.attname, 'type', format_type(a.atttypid, null),
        'help', col_description(c.oid, a.attnum)) order by a.attnum) as columns
    from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    where c.relnamespace = 'public'::regnamespace and c.relkind in ('v', 'r')
      and has_table_privilege('storerank_reader', c.oid, 'select')
    group by c.oid, c.relname order by c.relname`
}

const LIMIT = {
  type: 'integer',
  description: `how many rows at most: ${USUAL_ROWS} unless said, ${MOST_ROWS} at most`,
}

function toFunctionTool(reader: Database, { name, help, args, columns }: AskedFunction): AssistantTool {
  const given = args.map(({ name: arg, type }) => [arg, { ...schemaOf(type), description: type }])
  const needed = args.filter(({ isNeeded }) => isNeeded).map((arg) => arg.name)
  const description = `${help} Columns: ${columns.map(describeColumn).join(' ')}`
  return tool(name, description, { ...Object.fromEntries(given), limit: LIMIT }, needed, (input) => {
    const { text, values } = writeCall({ name, args }, input)
    return readRows(reader, text, values, input.limit)
  })
}

/** The statement that asks a function, with what is given of its arguments. */
export function writeCall(
  { name, args }: Pick<AskedFunction, 'name' | 'args'>,
  input: Input,
): { readonly text: string; readonly values: readonly string[] } {
  const named = args.filter((arg) => input[arg.name] != null)
  const list = named.map((arg, n) => `${quote(arg.name)} => ($${n + 1}::text)::${arg.type}`)
  return {
    text: `select * from ${quote(name)}(${list.join(', ')})`,
    values: named.map((arg) => toText(input[arg.name])),
  }
}

function toDescribeTool(relations: readonly Source[]): AssistantTool {
  const view = { type: 'string', enum: relations.map(({ name }) => name) }
  return tool(
    'describe_view',
    'What a view or table means, and each of its columns.',
    { view },
    ['view'],
    async (input) => {
      const { help, columns } = findNamed(relations, input.view, 'Views', 'There is no view')
      return [help, ...columns.map(describeColumn)].join('\n')
    },
  )
}

function toReadTool(reader: Database, relations: readonly Source[]): AssistantTool {
  const where = {
    type: 'object',
    properties: {
      column: { type: 'string' },
      is: { type: 'string', enum: OPERATORS, description: '= unless said' },
      value: { description: 'a text, a number or true and false; left out for is null' },
    },
    required: ['column'],
    additionalProperties: false,
  }
  const properties = {
    view: { type: 'string', enum: relations.map(({ name }) => name) },
    columns: { type: 'array', items: { type: 'string' }, description: 'all unless said' },
    where: { type: 'array', items: where, description: 'conditions, all of which have to be met' },
    order_by: { type: 'string', description: 'a column' },
    descending: { type: 'boolean' },
    limit: LIMIT,
  }
  const description =
    'Rows of a view or table; describe_view has their columns. ' +
    relations.map(({ name, help }) => `${name}: ${help}`).join(' ')
  return tool('read_view', description, properties, ['view'], (input) => {
    const { text, values } = writeSelect(findNamed(relations, input.view, 'Views', 'There is no view'), input)
    return readRows(reader, text, values, input.limit)
  })
}

function writeSelect({ name: view, columns }: Source, input: Input) {
  const column = (name: unknown) => findNamed(columns, name, 'Columns', `The view ${view} has no column`)
  const values: string[] = []
  const conditions = listOf(input.where) as { column?: unknown; is?: string; value?: unknown }[]
  const tests = conditions.map(({ column: asked, is = '=', value }) => {
    const { name, type } = column(asked)
    if (!OPERATORS.includes(is)) throw new ConfigurationError(`is must be one of ${OPERATORS.join(', ')}.`)
    if (is.endsWith('null')) return `${quote(name)} ${is}`
    values.push(toText(value))
    return `${quote(name)} ${is} ($${values.length}::text)::${type}`
  })
  const shown = listOf(input.columns).map((name) => quote(column(name).name))
  const order = input.order_by == null ? '' : ` order by ${quote(column(input.order_by).name)}`
  const text =
    `select ${shown.join(', ') || '*'} from ${quote(view)}` +
    (tests.length === 0 ? '' : ` where ${tests.join(' and ')}`) +
    (order && `${order}${input.descending === true ? ' desc' : ''}`)
  return { text, values }
}

/** @returns JSON with no more rows and letters than an assistant reads, and whether there are more */
async function readRows(
  { sql }: Database,
  text: string,
  values: readonly string[],
  limit: unknown,
): Promise<string> {
  const most = Math.max(1, Math.min(Number(limit ?? USUAL_ROWS) || USUAL_ROWS, MOST_ROWS))
  // As Postgres writes it: a day stays a day.
  const found = await sql.unsafe<{ row: object }[]>(
    `select to_jsonb(rows) as row from (${text}) rows limit ${Math.floor(most) + 1}`,
    values,
  )
  const rows: object[] = []
  let characters = 0
  for (const { row } of found.slice(0, most)) {
    characters += JSON.stringify(row).length
    if (characters > MOST_CHARACTERS) break
    rows.push(row)
  }
  return JSON.stringify({ rows, hasMore: found.length > rows.length })
}

/** @throws ConfigurationError for a number that is another one since its JSON was read */
function toText(value: unknown): string {
  if (typeof value !== 'number' || !Number.isInteger(value) || Number.isSafeInteger(value))
    return String(value)
  throw new ConfigurationError(`${value} is beyond the numbers that JSON holds exactly: give it as a text.`)
}

function schemaOf(type: string) {
  if (/^(smallint|integer|numeric|real|double precision)$/.test(type)) return { type: 'number' }
  if (type === 'bigint') return { type: ['number', 'string'] }
  if (type === 'boolean') return { type: 'boolean' }
  return type === 'date' ? { type: 'string', format: 'date' } : { type: 'string' }
}

function describeColumn({ name, type, help }: Column): string {
  return `${name} (${type})${help === null ? '' : `: ${help}`}`
}

/** @param lack the beginning of the sentence that refuses a name */
export function findNamed<Named extends { readonly name: string }>(
  all: readonly Named[],
  name: unknown,
  title: string,
  lack: string,
): Named {
  const found = all.find((each) => each.name === name)
  if (found !== undefined) return found
  const names = all.map((each) => each.name)
  throw new ConfigurationError(`${lack} ${JSON.stringify(name)}.${nameKnown(String(name), title, names)}`)
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : []
}

export function quote(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}
