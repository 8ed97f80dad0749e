/** What costs nothing: what watches refer to, what the service says of itself, what failed, and webhooks. */
import { z } from 'zod'
import { ConfigurationError, RejectedError, UnreadableError } from '../errors.ts'
import {
  ifReadable,
  objectOf,
  readCode,
  readIdentifier,
  readNumber,
  textIfReadable,
  toWireRecord,
  wireCode,
  wireCount,
  wireIdentifier,
  wireName,
  wireRecord,
  wireTimestamp,
} from './fields.ts'
import type { Store } from './functions.ts'
import { fetchReadableRows } from './replies.ts'
import { checkRequest, formatInstant, type Range, refuseRange, rowOffset, wholeUpTo } from './requests.ts'
import { classifyStatus } from './status-codes.ts'
import type { Transport } from './transport.ts'

export type Location = z.output<typeof location>
export type Language = z.output<typeof language>
export type ListingCategory = z.output<typeof listingCategory>
export type ApiStatus = z.output<typeof status>
export type ServiceErrorCode = z.output<typeof errorCode>
export type FailedTask = z.output<typeof failedTask>

/** One place that a store can be asked from (docs/service.md: Reference records). */
const location = wireRecord({
  /** What a task names the location by. */
  locationCode: wireCode,
  /** Full name, which a task may give instead of the code. */
  locationName: wireName,
  /** Name of what it lies in; null for a country, and so always in ios_store. */
  locationNameParent: textIfReadable(500),
  /** ISO 3166-1, two letters. */
  countryIsoCode: textIfReadable(20),
  locationType: textIfReadable(100),
})

const language = wireRecord({
  /** Full English name, which a task may give instead of the code. */
  languageName: wireName,
  /** ISO 639-1. */
  languageCode: wireName,
})

const categories = z.object({ categories: z.array(wireName) }).transform((row) => row.categories)

/** With the number of listings in it. */
const listingCategory = wireRecord({ category: wireName, count: wireCount })

/** A list of each store. */
const ofStore =
  <T>(path: string, row: z.ZodType<T>) =>
  (transport: Transport, store: Store): Promise<T[]> =>
    fetchReadableRows(transport, referenceCall(`/v3/app_data/${store}/${path}`), row)

function referenceCall(path: string) {
  return { kind: 'reference', method: 'GET', path } as const
}

export const listLocations = ofStore('locations', location)
export const listLanguages = ofStore('languages', language)
/** A service in the form of the specification has those of android_store alone, and answers 404 else. */
export const listListingCategories = ofStore('app_listings/categories', listingCategory)

/** The category values of a store. */
export async function listCategories(transport: Transport, store: Store): Promise<string[]> {
  return (await ofStore('categories', categories)(transport, store)).flat()
}

/** One part of it, such as `task_post`, `task_get`, `live` or `postback/pingback`. */
const endpoint = wireRecord({ endpoint: wireName, status: wireName })

const status = wireRecord({
  /** `app_data` or `appendix`. */
  api: wireName,
  /** `ok` when healthy (docs/service.md: Status record). */
  status: wireName,
  /** A part whose name or status cannot be read is left out, and stops no posting. */
  endpoints: z
    .array(z.unknown())
    .nullish()
    .transform((parts) => (parts ?? []).flatMap((part) => endpoint.safeParse(part).data ?? [])),
})

const errorCode = wireRecord({
  code: wireCode,
  message: textIfReadable(500).transform((value) => value ?? ''),
})

/** How the service says it is; at most 10 calls a minute (spec: Limits). */
export function getStatus(transport: Transport): Promise<ApiStatus[]> {
  return fetchReadableRows(transport, { kind: 'status', method: 'GET', path: '/v3/appendix/status' }, status)
}

const ERRORS_CALL = referenceCall('/v3/appendix/errors')

/** Every status code of the service with its message. */
export function listErrors(transport: Transport): Promise<ServiceErrorCode[]> {
  return fetchReadableRows(transport, ERRORS_CALL, errorCode)
}

/** The present by the service's own clock, in whole seconds. @throws UnreadableError without a date */
export async function readServiceTime(transport: Transport): Promise<Date> {
  const { answeredAt } = await transport.callFree(ERRORS_CALL)
  if (answeredAt !== null) return answeredAt
  const call = `${ERRORS_CALL.method} ${ERRORS_CALL.path}`
  throw new UnreadableError(`${call} was answered without a date, so the service's clock is unknown.`, 'date')
}

/** spec: Limits */
export const MAX_FAILED_TASK_ROWS = 1000
/** As the service is sold; by the specification a day. What it does not allow it refuses itself. */
const HISTORY_DAYS = 7

/** One failure of a task or of a webhook (docs/service.md: Failed-task record). */
const failedTask = wireRecord({
  /** Of the task, the service's own. */
  id: wireIdentifier,
  datetime: wireTimestamp,
  /** Such as `pingback_url`, `postback_url` or `app_data/task_get/advanced`. */
  function: textIfReadable(500),
  errorCode: ifReadable(readCode),
  /** What went wrong, or the URL that did. */
  errorMessage: textIfReadable(5_000),
  /** Of the call, or of the webhook. */
  httpUrl: textIfReadable(5_000),
  httpMethod: textIfReadable(20),
  /** HTTP status code, 0 or null when there was no answer. */
  httpCode: ifReadable(readCode),
  /** How long the HTTP request took, in the unit of the service; for a webhook, the receiver. */
  httpTime: ifReadable(readNumber),
  httpResponse: textIfReadable(10_000),
})

const FUNCTION_RULE = 'must be the name of a function'

const query = z.object({
  limit: wholeUpTo(MAX_FAILED_TASK_ROWS),
  offset: rowOffset,
  /** Only failures of this function, such as `postback_url`. */
  filteredFunction: z.string(FUNCTION_RULE).min(1, FUNCTION_RULE).optional(),
})

/** By default the first 1000 rows; a range goes as far back as the service allows, a day or a week. */
export type FailedTaskQuery = Readonly<z.input<typeof query>> & Range

/** @throws ConfigurationError when the query breaks a rule; what `fetchReadableRows` throws */
export async function listFailedTasks(
  transport: Transport,
  { from, to, limit, offset, filteredFunction }: FailedTaskQuery,
): Promise<FailedTask[]> {
  const path = '/v3/app_data/errors'
  const asked = { limit, offset, filteredFunction }
  const request = { ...asked, datetimeFrom: from && formatInstant(from), datetimeTo: to && formatInstant(to) }
  const range = refuseRange({ from, to }, transport.nowMs(), HISTORY_DAYS, 'the past seven days')
  checkRequest(query.superRefine(range), request, `POST ${path}`)
  const call = { kind: 'failed_tasks', method: 'POST', path, body: [toWireRecord(request)] } as const
  return fetchReadableRows(transport, call, failedTask)
}

/** spec: Limits */
export const MAX_IDS_PER_RESEND = 100
const MAX_ID_LENGTH = 64

/** What became of one id of a resend. */
export type ResendAnswer = Awaited<ReturnType<typeof resendWebhooks>>[number]

/**
 * Has the webhooks of 1 to 100 tasks sent again, at no charge; one may come twice.
 * @returns one answer for each id, in the order asked
 * @throws ConfigurationError for another number of ids, or one that is no text of 1 to 64 characters;
 *   RejectedError when the service refuses the whole call; what `callFree` throws
 */
export async function resendWebhooks(transport: Transport, taskIds: readonly string[]) {
  const path = '/v3/appendix/webhook_resend'
  const unsent = (rule: string) => new ConfigurationError(`POST ${path} was not sent: ${rule}.`)
  if (taskIds.length < 1 || taskIds.length > MAX_IDS_PER_RESEND)
    throw unsent(`it takes 1 to ${MAX_IDS_PER_RESEND} ids, not ${taskIds.length}`)
  const stranger = taskIds.find((id) => readIdentifier(id, MAX_ID_LENGTH) === null)
  if (stranger !== undefined)
    throw unsent(`id must be text of 1 to ${MAX_ID_LENGTH} characters; it is ${JSON.stringify(stranger)}`)
  const body = taskIds.map((id) => ({ id }))
  const call = { kind: 'webhook_resend', method: 'POST', path, body } as const
  const { tasks, statusCode, message } = await transport.callFree(call)
  if (tasks.length === 0)
    throw new RejectedError(`POST ${path} was refused: ${message} (${statusCode}).`, statusCode)
  return taskIds.map((id, index) => {
    // By the id that it names; an answer that names none of its own is that of its place.
    const named = tasks.find((task) => task.id === id || objectOf(task.data).id === id)
    const task = named ?? (tasks.length === taskIds.length ? tasks[index] : undefined)
    return {
      /** Of the task. */
      id,
      /** Whether its pingback or postback goes out again. */
      isResent: task !== undefined && ['created', 'ok'].includes(classifyStatus(task.statusCode)),
      /** 20100 when it is; 40503 for a task without a webhook; null when the service said nothing of it. */
      statusCode: task?.statusCode ?? null,
      message: task?.message ?? 'The service did not say.',
    }
  })
}
