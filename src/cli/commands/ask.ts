/** A question about a project, answered by its function of the database, for people who write no SQL. */
import { isDatabaseError } from '../../db/database.ts'
import { ConfigurationError } from '../../errors.ts'
import { readProjects, readRequest } from '../../report/read.ts'
import { formatDay } from '../../text/days.js'
import { argument, command, flag, type Given, option, repeated, usually } from '../command.ts'
import { database } from '../database-session.ts'
import { type Document, heading, more, type Part, type Row, table } from '../document.ts'
import { day, namedValue, wholeNumber } from '../option-values.ts'
import { type AskedFunction, findNamed, quote, readFunctions, writeCall } from '../questions.ts'
import { onlyOne } from './report.ts'

const STATEMENT_LIMIT_MS = 120_000
/** SQLSTATE: data exceptions. */
const BAD_VALUE = /^22/
/** Numbers of the dictionary, and what another column says in words. */
const HIDDEN = /(^|_)(app|app_id|target_id|location_code)$/

const options = {
  project: option('<name>', 'this project (default: the only one)'),
  days: usually(30, option('<number>', 'the last day beside so many days before', wholeNumber(0, 730))),
  from: option('<day>', 'first day instead, such as 2026-03-01', day),
  to: option('<day>', 'last day (default: the last one with a measurement or a gap)', day),
  day: option('<day>', 'the day of the event, for impact (default: the last day)', day),
  tag: option('<tag>', 'only keywords and charts with this tag'),
  location: option('<name>', 'only those of this location, such as "United States" or US'),
  app: option('<id>', 'only this app'),
  with: repeated(option('<name=value>', 'anything else that the question takes: top=3', namedValue)),
  sort: option('<column>', 'by this column, the smallest first'),
  descending: flag('the greatest first'),
  limit: usually(40, option('<number>', 'rows at most', wholeNumber(1, 100_000))),
  json: flag('print one JSON document'),
  csv: flag('print CSV', { conflicts: ['json'] }),
}
type Options = Given<typeof options>

export const ask = command({
  group: 'Look',
  summary: 'answer a question without SQL; alone, list them',
  arguments: { question: argument('[question]', 'a name of the list, such as market_moves') },
  options,
  examples: ['storerank ask cannibalization --project fitness --days 30'],
  needs: database(),
  run: async ({ question, ...given }, _, { db }) => {
    const functions = await readFunctions(db)
    if (question === undefined) return listQuestions(functions)
    const asked = findNamed(functions, question, 'Questions', 'There is no question')
    const project = given.project ?? onlyOne('A question', await readProjects(db))
    return db.begin(
      async (tx) => {
        const scope = await readRequest(tx, { ...given, project, days: given.days + 1 })
        const { text, values } = writeCall(asked, readInput(asked, given, scope))
        const query = `select to_jsonb(a) as row, count(*) over () as total from (${text}) a
          ${orderOf(asked, given)} limit ${given.limit}`
        const found = await tx
          .unsafe<{ row: Row; total: number }[]>(query, [...values])
          .catch((error) => refuseValue(asked, error))
        const rows = found.map(({ row }) => row)
        return {
          data: rows,
          parts: [
            heading(`${asked.name}: ${project}, ${formatDay(scope.from)} to ${formatDay(scope.to)}`),
            ...describeRows(asked, rows),
            more((found[0]?.total ?? 0) - rows.length, ': --limit'),
            asked.help,
          ],
          paged: 'wide' as const,
        }
      },
      { name: 'Answering a question', isReadOnlySnapshot: true, statementTimeoutMs: STATEMENT_LIMIT_MS },
    )
  },
})

/** Postgres reads what is given by --with as its type says. */
function refuseValue({ name }: AskedFunction, error: unknown): never {
  if (!isDatabaseError(error) || !BAD_VALUE.test(error.code)) throw error
  throw new ConfigurationError(`${name} does not take that value: ${error.message}. Look at --with.`)
}

function listQuestions(functions: readonly AskedFunction[]): Document {
  const rows = functions.map(({ name, help }) => ({ name, answers: help.split(/[.:;] /)[0] ?? '' }))
  return { data: rows, parts: rows.map(({ name, answers }) => `${name}: ${answers}.`) }
}

/** @throws ConfigurationError for what the question does not take */
function readInput(
  { name, args }: AskedFunction,
  { day, app, with: others, ...given }: Options,
  { project, from, to, tag, location }: Awaited<ReturnType<typeof readRequest>>,
): Row {
  const wanted: Row = {
    ...(day && { in_day: day }),
    ...(app && { in_app_id: app }),
    ...(given.tag && { in_tag: tag }),
    ...(given.location && { in_location: location }),
    ...Object.fromEntries(others),
  }
  for (const key of Object.keys(wanted)) findNamed(args, key, 'It takes', `${name} does not take`)
  return { in_project: project, from_day: from, to_day: to, in_day: to, ...wanted }
}

/** As it is asked; else by what the question is called, by day and by weight, the greatest first. */
function orderOf({ name, columns }: AskedFunction, { sort, descending }: Options): string {
  const usual = [name, 'day', 'weight'].filter((each) => columns.some((column) => column.name === each))
  const [by, way] =
    sort === undefined
      ? [usual, ' desc']
      : [[findNamed(columns, sort, 'Columns', `${name} has no column`).name], descending ? ' desc' : '']
  return `order by ${[...by.map((column) => `${quote(column)}${way} nulls last`), 'a'].join(', ')}`
}

/** What is the same in all rows is said once. */
function describeRows({ columns }: AskedFunction, rows: readonly Row[]): Part[] {
  const [first] = rows
  if (first === undefined) return ['None.']
  const shown = columns.filter(({ name }) => !HIDDEN.test(name) && rows.some((row) => row[name] != null))
  const isSame = (name: string) =>
    rows.length > 1 && rows.every((row) => showValue(row[name]) === showValue(first[name]))
  const same = shown.filter(({ name }) => isSame(name)).map(({ name }) => `${name} ${showValue(first[name])}`)
  const rest = shown.filter(({ name }) => !isSame(name))
  const isNumber = (type: string) => /^(smallint|integer|bigint|numeric|real|double)/.test(type)
  return [
    same.length > 0 && `All of them: ${same.join(', ')}.`,
    table(
      rows.map((row) => Object.fromEntries(rest.map(({ name }) => [name, showValue(row[name])]))),
      { right: rest.filter(({ type }) => isNumber(type)).map(({ name }) => name) },
    ),
  ]
}

function showValue(value: unknown): unknown {
  if (typeof value === 'number') return Math.round(value * 100) / 100
  return Array.isArray(value) ? value.join(', ') : (value ?? '')
}
