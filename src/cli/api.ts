/**
 * What `storerank api` does: one call of the service by hand. It opens no database: what is posted here
 * is charged to the account, but counts in no budget and no history of ours. The search in listings alone is
 * bought through the ledger.
 */
import { ConfigurationError } from '../errors.ts'
import { AppDataClient } from '../service/client.ts'
import type { Store } from '../service/functions.ts'
import type { PostOutcome } from '../service/post-tasks.ts'
import type { AnswerHead } from '../service/transport.ts'
import { formatUsd } from '../text/money.ts'
import { type ApiEndpoint, ENDPOINTS, LIVE_SEARCH } from './api-endpoints.ts'
import { Fields } from './api-fields.ts'
import type { CommandContext } from './command.ts'
import { type Document, type Part, type Row, table } from './document.ts'
import { searchByHand } from './search-listings.ts'
import { openService } from './service-access.ts'
import { warn } from './tell.ts'

interface ApiOptions {
  readonly endpoint: ApiEndpoint
  /** `name=value`, named as in the specification. */
  readonly fields: readonly string[]
  /** Default: android_store for charts and raw pages, as in the specification; else ios_store. */
  readonly store?: Store
  /** Which project pays; app_listings/search/live alone. */
  readonly project?: string
}

export async function callEndpoint(options: ApiOptions, context: CommandContext): Promise<Document> {
  const data = await callByHand(options, context)
  return { data, parts: [describeValue(data)], exitCode: isFailure(data) ? 1 : 0 }
}

async function callByHand({ endpoint, ...options }: ApiOptions, context: CommandContext): Promise<unknown> {
  if (endpoint === LIVE_SEARCH) return searchByHand({ endpoint, ...options }, context)
  if (options.project !== undefined)
    throw new ConfigurationError(`--project is of ${LIVE_SEARCH} alone: ${endpoint} counts in no budget.`)
  const fields = new Fields(endpoint, options.fields)
  const call = ENDPOINTS[endpoint](fields, options.store)
  fields.refuseRest()
  const { url: baseUrl, dispose, ...access } = await openService(context.config)
  const onAnswer = (answer: AnswerHead) => warn(context, describeAnswer(answer))
  const client = new AppDataClient({ ...access, baseUrl, onAnswer })
  try {
    return await call(client)
  } finally {
    await client.close()
    await dispose()
  }
}

function describeAnswer({
  method,
  path,
  statusCode,
  message,
  version,
  timeSeconds,
  costMicros,
}: AnswerHead): string {
  const cost = costMicros === null ? '' : `, cost ${formatUsd(costMicros)}`
  return (
    `${method} ${path}: ${statusCode} ${message} (version ${version ?? 'unknown'}, ` +
    `${timeSeconds ?? '?'} s${cost})`
  )
}

/** A post of which a task was not created, or a task without a result for good. */
function isFailure(value: unknown): boolean {
  if (!isRow(value) || !('kind' in value)) return false
  if (value.kind !== 'answered') return value.kind !== 'done' && value.kind !== 'pending'
  return (value as PostOutcome & { kind: 'answered' }).answers.some((answer) => answer.statusCode !== 20100)
}

/** Plain values as a table of their own, then each list of records, then what is nested. */
function describeValue(value: unknown): Part {
  if (Array.isArray(value)) return describeList(value)
  return isRow(value) && describeRecord(value)
}

function describeRecord(value: Row): Part {
  const isTabled = (field: unknown) => isRow(field) || (Array.isArray(field) && field.some(isRow))
  const entries = Object.entries(value).filter(([, field]) => typeof field !== 'function')
  const plain = entries
    .filter(([, field]) => !isTabled(field))
    .map(([field, content]) => ({ field, value: content }))
  const nested = entries.filter(([, content]) => isTabled(content))
  return [
    plain.length > 0 && table(plain),
    nested.map(([field, content]) => [`${field}:`, describeValue(content)]),
  ]
}

function describeList(values: readonly unknown[]): Part {
  const rows = values.map((value): Row => (isRow(value) ? value : { value }))
  return table(rows, { columns: [...new Set(rows.flatMap((row) => Object.keys(row)))] })
}

function isRow(value: unknown): value is Row {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date)
}
