/**
 * One call of the service by hand. It opens no database: what is posted here is charged to the account, but
 * counts in no budget and no history of ours. The search in listings alone is bought through the ledger.
 */
import { ConfigurationError } from '../../errors.ts'
import { type SearchAnswer, searchListings } from '../../post/search-listings.ts'
import { AppDataClient } from '../../service/client.ts'
import type { Store } from '../../service/functions.ts'
import type { ListingQuery } from '../../service/listings.ts'
import type { PostOutcome } from '../../service/post-tasks.ts'
import type { AnswerHead } from '../../service/transport.ts'
import { formatUsd } from '../../text/money.ts'
import { ENDPOINTS, readSearch } from '../api-endpoints.ts'
import { argument, type CommandContext, command, flag, option } from '../command.ts'
import { type Part, type Row, table } from '../document.ts'
import { oneOf } from '../option-values.ts'
import { warn } from '../tell.ts'
import { openService, service } from '../work-session.ts'

const LIVE_SEARCH = 'app_listings/search/live'
export const API_ENDPOINTS: readonly string[] = [...Object.keys(ENDPOINTS), LIVE_SEARCH]

export const api = command({
  group: 'The service',
  summary:
    'call one endpoint by hand; what it posts is charged and in no budget here, ' +
    'but for app_listings/search/live',
  arguments: {
    endpoint: argument('<endpoint>', 'one of those below', oneOf('endpoint', API_ENDPOINTS)),
    fields: argument('[field=value...]', 'fields by their names in the specification, such as keyword=yoga'),
  },
  options: {
    store: option('<store>', 'where both have it', oneOf('store', ['ios_store', 'android_store'])),
    project: option('<name>', 'whose budget pays for app_listings/search/live'),
    json: flag('print JSON instead of tables'),
  },
  examples: [
    'storerank api app_searches/task_post keyword=yoga location_code=2840 language_code=en --json',
    'storerank api app_listings/search/live --project fitness title=yoga limit=20',
  ],
  notes: `Endpoints:\n  ${API_ENDPOINTS.join('\n  ')}`,
  run: async ({ endpoint, fields, store, project }, context) => {
    const prepare = ENDPOINTS[endpoint]
    if (prepare !== undefined && project !== undefined)
      throw new ConfigurationError(`--project is of ${LIVE_SEARCH} alone: ${endpoint} counts in no budget.`)
    const data =
      prepare === undefined
        ? await searchByHand(fields, store, project, context)
        : await callByHand(prepare(endpoint, fields, store), context)
    return { data, parts: [describeValue(data)], exitCode: isFailure(data) ? 1 : 0 }
  },
})

async function callByHand(
  call: (client: AppDataClient) => Promise<unknown>,
  context: CommandContext,
): Promise<unknown> {
  const { dispose, ...access } = await openService(context.config)
  const client = new AppDataClient({ ...access, onAnswer: (answer) => warn(context, describeAnswer(answer)) })
  try {
    return await call(client)
  } finally {
    await client.close()
    await dispose()
  }
}

async function searchByHand(
  fields: readonly string[],
  store: Store = 'ios_store',
  project: string | undefined,
  context: CommandContext,
): Promise<SearchAnswer> {
  const query = readSearch(LIVE_SEARCH, fields)
  if (project !== undefined) return buySearch({ store, query, project }, context)
  throw new ConfigurationError('Say which project pays for the search: --project fitness. A new one is made.')
}

/** It counts in the budgets, and its charge is a row of the ledger. */
export function buySearch(
  search: { readonly store: Store; readonly query: Omit<ListingQuery, 'tag'>; readonly project: string },
  context: CommandContext,
): Promise<SearchAnswer> {
  return service(context, ({ job: { db, client, settings, runner } }) => {
    const deps = { db, client, budget: settings.budget, window: { ...settings, runner } }
    return searchListings(deps, search, context.signal)
  })
}

function describeAnswer({ method, path, message, costMicros, ...answer }: AnswerHead): string {
  const cost = costMicros === null ? '' : `, cost ${formatUsd(costMicros)}`
  const version = `version ${answer.version ?? 'unknown'}, ${answer.timeSeconds ?? '?'} s`
  return `${method} ${path}: ${answer.statusCode} ${message} (${version}${cost})`
}

/** A post of which a task was not created, or a task without a result for good. */
function isFailure(value: unknown): boolean {
  if (!isRow(value) || !('kind' in value)) return false
  if (value.kind !== 'answered') return value.kind !== 'done' && value.kind !== 'pending'
  return (value as PostOutcome & { kind: 'answered' }).answers.some((answer) => answer.statusCode !== 20100)
}

/** Plain values as a table of their own, then each list of records, then what is nested. */
function describeValue(value: unknown): Part {
  if (Array.isArray(value)) {
    const rows = value.map((each): Row => (isRow(each) ? each : { value: each }))
    return table(rows, { columns: [...new Set(rows.flatMap((row) => Object.keys(row)))] })
  }
  if (!isRow(value)) return null
  const isTabled = (field: unknown) => isRow(field) || (Array.isArray(field) && field.some(isRow))
  const entries = Object.entries(value).filter(([, field]) => typeof field !== 'function')
  const plain = entries
    .filter(([, field]) => !isTabled(field))
    .map(([field, each]) => ({ field, value: each }))
  return [
    plain.length > 0 && table(plain),
    entries.map(([field, each]) => isTabled(each) && [`${field}:`, describeValue(each)]),
  ]
}

function isRow(value: unknown): value is Row {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date)
}
