/** The result of one task, read, with the parameters that it was posted with. */

import { z } from 'zod'

import { optionalCode, optionalCount, optionalName, optionalUrl, wireRecord, wireText } from './fields.ts'
import { type FetchedTask, fetchTask, type TaskAddress } from './task-result.ts'
import type { Transport } from './transport.ts'

/** The parameters of a task as the service echoes them (docs/service.md: Task data echo). */
export type TaskEcho = z.output<typeof echo>

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

const echo = wireRecord({
  /** `app_data`. */
  api: optionalName,
  /** Such as `app_searches`. */
  function: optionalName,
  /** The store, as the service calls it. */
  se: optionalName,
  /** Kind of the search, such as `organic`. */
  seType: optionalName,
  /** Set by the service, as `os`. */
  device: optionalName,
  os: optionalName,
  /** As posted, so encoded; app_searches only. */
  keyword: wireText(2_500),
  /** app_info and app_reviews only. */
  appId: optionalName,
  /** app_list only. */
  appCollection: optionalName,
  /** app_list only; null for all categories. */
  appCategory: optionalName,
  /** app_list of android_store only; null for all ages. */
  ageRating: optionalName,
  /** app_reviews only; null when the task left it to the service. */
  sortBy: optionalName,
  /** The stars that the reviews have; app_reviews of android_store only, and null for all. */
  rating: optionalCount,
  /** As in the locations list, also where the task named the location in words. */
  locationCode: optionalCode,
  /** Null when the task gave a code. */
  locationName: optionalName,
  /** As in the languages list, also where the task named the language in words or not at all. */
  languageCode: optionalName,
  /** Null when the task gave a code or no language. */
  languageName: optionalName,
  /** Results asked for; app_info has no depth. */
  depth: optionalCount,
  /** 1 normal, 2 high; null when the task left it open, which is 1. */
  priority: optionalCount,
  /** Ours. */
  tag: optionalName,
  postbackUrl: optionalUrl,
  /** Form of the postback. */
  postbackData: optionalName,
  pingbackUrl: optionalUrl,
})

const segments = z.array(z.string())

/**
 * Fetches one result and reads it.
 * @throws UnreadableError with the path of a field that breaks the contract; what `getResult` throws
 */
export function getParsed<T>(
  transport: Transport,
  address: TaskAddress,
  parse: (result: unknown) => T,
): Promise<TaskOutcome<T>> {
  return fetchTask(transport, address, (fetched) => readFetched(fetched, parse))
}

function readFetched<T>(fetched: FetchedTask, parse: (result: unknown) => T): TaskOutcome<T> {
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
