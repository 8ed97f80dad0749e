/** The result of one task, read, with the parameters that it was posted with. */

import { z } from 'zod'

import { optionalCode, optionalCount, wireRecord, wireText } from './fields.ts'
import { fetchTask, type TaskAddress } from './task-result.ts'
import type { Transport } from './transport.ts'

/**
 * The parameters of a task as the service echoes them (spec: Task data echo); null also where it does not.
 */
export interface TaskEcho {
  /** `app_data`. */
  readonly api: string | null
  /** Such as `app_searches`. */
  readonly function: string | null
  /** The store, as the service calls it. */
  readonly se: string | null
  /** Kind of the search, such as `organic`. */
  readonly seType: string | null
  /** Set by the service. */
  readonly device: string | null
  /** Set by the service. */
  readonly os: string | null
  /** As posted, so encoded; app_searches only. */
  readonly keyword: string | null
  /** app_info and app_reviews only. */
  readonly appId: string | null
  /** app_list only. */
  readonly appCollection: string | null
  /** app_list only; null for all categories. */
  readonly appCategory: string | null
  /** app_list of android_store only; null for all ages. */
  readonly ageRating: string | null
  /** app_reviews only; null when the task left it to the service. */
  readonly sortBy: string | null
  /** The stars that the reviews have; app_reviews of android_store only, and null for all. */
  readonly rating: number | null
  /** As in the locations list, also where the task named the location in words. */
  readonly locationCode: number | null
  /** Null when the task gave a code. */
  readonly locationName: string | null
  /** As in the languages list, also where the task named the language in words or not at all. */
  readonly languageCode: string | null
  /** Null when the task gave a code or no language. */
  readonly languageName: string | null
  /** Results asked for; null for app_info, which has no depth. */
  readonly depth: number | null
  /** 1 normal, 2 high; null when the task left it open, which is 1. */
  readonly priority: number | null
  /** Ours; null when the task had none. */
  readonly tag: string | null
  /** Null when the task asked for no postback. */
  readonly postbackUrl: string | null
  /** Form of the postback; null when the task asked for none. */
  readonly postbackData: string | null
  /** Null when the task asked for no pingback. */
  readonly pingbackUrl: string | null
}

export type TaskOutcome<T> =
  /** 40601, 40602: keep waiting. */
  | { readonly kind: 'pending'; readonly statusCode: number }
  | {
      readonly kind: 'done'
      /** The service's own. */
      readonly id: string
      /** 20000, or 40102 when the store found nothing. */
      readonly statusCode: 20000 | 40102
      /** In the words of the service; empty when missing. */
      readonly message: string
      /** How long the service worked on the answer; null when it does not say. */
      readonly timeSeconds: number | null
      /**
       * What this answer cost, micro-dollars, which is nothing; null when missing. The task was paid for at
       * posting.
       */
      readonly costMicros: number | null
      /** How many elements `result` has on the wire; null when missing. */
      readonly resultCount: number | null
      /** The path of the call in segments, the last one the id; null when missing. */
      readonly path: readonly string[] | null
      /** The parameters that the task was posted with. */
      readonly data: TaskEcho
      /** Null with 40102. */
      readonly result: T | null
    }
  /** Another 4xxxx: the task failed, is unknown, or its result is gone. */
  | { readonly kind: 'failed'; readonly statusCode: number; readonly message: string }

const name = wireText(500)

const url = wireText(2_000)

const echo: z.ZodType<TaskEcho> = wireRecord({
  api: name,
  function: name,
  se: name,
  se_type: name,
  device: name,
  os: name,
  keyword: wireText(2_500),
  app_id: name,
  app_collection: name,
  app_category: name,
  age_rating: name,
  sort_by: name,
  rating: optionalCount,
  location_code: optionalCode,
  location_name: name,
  language_code: name,
  language_name: name,
  depth: optionalCount,
  priority: optionalCount,
  tag: name,
  postback_url: url,
  postback_data: name,
  pingback_url: url,
})

const segments = z.array(z.string())

/**
 * Fetches one result and reads it.
 * @throws UnreadableError with the path of a field that breaks the contract; what `getResult` throws
 */
export async function getParsed<T>(
  transport: Transport,
  address: TaskAddress,
  parse: (result: unknown) => T,
): Promise<TaskOutcome<T>> {
  const fetched = await fetchTask(transport, address)
  if (fetched.kind === 'failed') {
    const { kind, statusCode, message } = fetched
    return { kind, statusCode, message }
  }
  if (fetched.kind === 'pending') return fetched
  const { statusCode, serviceId: id, result } = fetched
  const { message, timeSeconds, costMicros, resultCount, path, data } = fetched.task
  return {
    kind: 'done',
    id,
    statusCode,
    message,
    timeSeconds,
    costMicros,
    resultCount,
    path: segments.safeParse(path).data ?? null,
    // Nothing hangs on the echo: one that cannot be read is empty.
    data: echo.safeParse(data).data ?? echo.parse({}),
    result: result === null ? null : parse(result),
  }
}
