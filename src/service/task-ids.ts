/** The account's own list of tasks, and what each measures (spec: Task id history record). */
import { z } from 'zod'
import { pathOfUrl } from './dialect.ts'
import {
  cleanText,
  cutDepth,
  ifReadable,
  isObject,
  objectOf,
  readCost,
  readTag,
  readTimestamp,
  textIfReadable,
  toWireRecord,
  wireIdentifier,
  wireRecord,
  wireTimestamp,
  wireValue,
} from './fields.ts'
import { findRule, LISTING_SEARCH, SERVICE_FUNCTIONS, type ServiceFunction, type Store } from './functions.ts'
import { readServiceTime } from './lists.ts'
import { fetchRows } from './replies.ts'
import { checkRequest, formatInstant, refuseRange, rowOffset, wholeUpTo } from './requests.ts'
import { decodeKeyword, joinCategory } from './subject.ts'
import type { Transport } from './transport.ts'

/** spec: Limits. A page this long may have more behind it. */
export const MAX_TASK_ID_ROWS = 1000
/** spec: Limits. The longest that a month and six of them can be: at the edge the service decides. */
const MONTH = [31, 'the past month'] as const
const HALF_YEAR = [184, 'the past six months'] as const
/** Times in the list are so exact. */
const SECOND_MS = 1000

export interface TaskIdQuery {
  /** Range of the time of posting, to the second: fractions are cut off. */
  readonly from: Date
  /** Some seconds before the service's present, as `readListEnd` says. */
  readonly to: Date
  /** Rows to skip. */
  readonly offset: number
  /** At most 1000. */
  readonly limit: number
  /** Tags come only with metadata, and that only for one month. */
  readonly includeMetadata: boolean
  /** By the time of execution, so pages shift while tasks finish. */
  readonly sort: 'asc' | 'desc'
}

/** One task of the account (docs/service.md: Task id history record). */
export type TaskIdRow = z.output<typeof taskIdRow>

/** The code as text or number, or a message. */
function readStatus(value: unknown): string {
  const text = typeof value === 'number' ? String(value) : value
  return typeof text === 'string' ? cleanText(text, 500) : ''
}

const taskIdRow = wireRecord({
  /** Of the task, the service's own. */
  id: wireIdentifier,
  /** Path of the call that made the task, in our words. */
  url: textIfReadable(2000),
  datetimePosted: wireValue(readTimestamp, 'it is not a timestamp'),
  /** UTC, to the second; null while the task is not finished. */
  datetimeDone: wireTimestamp,
  /** The task's status code, or the message that some answers hold instead. */
  status: ifReadable(readStatus),
  cost: ifReadable(readCost),
  metadata: z.unknown().optional(),
}).transform(({ cost, metadata, ...row }) => ({
  ...row,
  status: row.status ?? '',
  /** Net after refund, micro-dollars; null when missing, or no cost. */
  costMicros: cost,
  tag: readTag(objectOf(metadata).tag),
  /** The parameters as posted; null when they were not asked for, or are older than a month. */
  metadata: isObject(metadata) ? (cutDepth(metadata) as Readonly<Record<string, unknown>>) : null,
}))

/** By the clock of the service, to the second. */
export interface ListEnd {
  readonly present: Date
  /** What was posted before it can be listed now; what was posted later cannot yet. */
  readonly listedTo: Date
}

/** The list refuses a range that ends at the service's present (docs/service.md: end of id_list). */
export async function readListEnd(transport: Transport): Promise<ListEnd> {
  const present = await readServiceTime(transport)
  return { present, listedTo: new Date(present.getTime() - Math.max(0, transport.unlistedMs - SECOND_MS)) }
}

const page = z.object({ limit: wholeUpTo(MAX_TASK_ID_ROWS), offset: rowOffset })

/**
 * One page of the account's tasks, finished or not. A row that cannot be read fails the page: a scan with
 * holes would prove nothing.
 * @throws ConfigurationError when the query breaks a rule; what `fetchRows` throws
 */
export async function listTaskIds(transport: Transport, query: TaskIdQuery): Promise<TaskIdRow[]> {
  const path = '/v3/app_data/id_list'
  const { from, to, includeMetadata, limit, offset, sort } = query
  const asked = { limit, offset, sort, includeMetadata }
  const request = { datetimeFrom: formatInstant(from), datetimeTo: formatInstant(to), ...asked }
  const [days, allowed] = includeMetadata ? MONTH : HALF_YEAR
  const range = refuseRange({ from, to }, transport.nowMs(), days, allowed)
  checkRequest(page.superRefine(range), request, `POST ${path}`)
  const call = { kind: 'id_list', method: 'POST', path, body: [toWireRecord(request)] } as const
  const rows = await fetchRows(transport, call, taskIdRow)
  return rows.map((row) => ({ ...row, url: row.url && transport.dialect.toOurs(pathOfUrl(row.url)) }))
}

/** What was asked for. */
export type PostedTask = NonNullable<ReturnType<typeof readPostedTask>>

const MAKING_PATH =
  /^\/v3\/app_data\/(ios_store|android_store)\/(?:(\w+)\/task_post|app_listings\/search\/live)$/
/** No keyword, app id or collection is longer as posted. */
const name = textIfReadable(2100)
/** The service may give a number as text. */
const wholeNumber = z.coerce.number().int().positive()

const parameters = wireRecord({
  keyword: name,
  appId: name,
  appCollection: name,
  appCategory: name,
  ageRating: name,
  locationCode: wholeNumber,
  languageCode: z.string().min(1).max(50),
  priority: z.coerce
    .number()
    .pipe(z.literal([1, 2]))
    .catch(1),
  depth: wholeNumber.nullable().catch(null),
})

/** Null when the row does not say what was asked for, such as a task that is older than a month. */
export function readPostedTask({ url, metadata }: Pick<TaskIdRow, 'url' | 'metadata'>) {
  const [, store, called] = MAKING_PATH.exec(url ?? '') ?? []
  if (store === undefined || !isObject(metadata)) return null
  return called === undefined
    ? readLiveCall(store as Store, metadata)
    : readTask(store as Store, called, metadata)
}

/** A search in listings has no place and no language. */
function readLiveCall(store: Store, metadata: Readonly<Record<string, unknown>>) {
  const none = { category: null, locationCode: 0, languageCode: '', priority: 1, depth: null } as const
  return { store, function: LISTING_SEARCH, subject: describeQuery(metadata), ...none } as const
}

function readTask(store: Store, called: string, metadata: unknown) {
  const fn = SERVICE_FUNCTIONS.find((known) => known === called)
  const posted = parameters.safeParse(metadata).data
  if (fn === undefined || posted === undefined) return null
  const { keyword, appId, appCollection, appCategory, ageRating, depth, ...asked } = posted
  const subjects: Readonly<Record<ServiceFunction, string | null>> = {
    app_searches: keyword && decodeKeyword(keyword),
    app_list: appCollection,
    app_info: appId,
    app_reviews: appId,
  }
  const subject = subjects[fn]
  const rule = findRule(store, fn)
  if (rule === null || subject === null) return null
  return {
    store,
    function: fn,
    /** The keyword as typed, the app's id, or the collection. */
    subject,
    /** Of a chart, with the age that it is for. */
    category: fn === 'app_list' ? joinCategory(appCategory, ageRating) : null,
    ...asked,
    depth: rule.maximumDepth === null ? null : (depth ?? rule.defaultDepth),
  }
}

/** What an answer adds to the parameters of a search in listings. */
const NO_QUERY = ['api', 'function', 'se', 'se_type', 'tag']
const MAX_QUERY_CHARACTERS = 500

/** What a search in listings asks for, in words. */
export function describeQuery(wire: Readonly<Record<string, unknown>>): string {
  const words = Object.entries(wire)
    .filter(([field, value]) => value != null && !NO_QUERY.includes(field))
    .map(([field, value]) => `${field}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
  return cleanText(words.join(' ') || 'all', MAX_QUERY_CHARACTERS)
}
