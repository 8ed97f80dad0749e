/** The result of one task, read, with the parameters that it was posted with. */

import type { z } from 'zod'

import { optionalInteger, wireRecord, wireText } from './fields.ts'
import { fetchTask, type TaskAddress } from './task-result.ts'
import type { Transport } from './transport.ts'

/** The parameters of a task as the service echoes them (spec: Task data echo); null where it does not. */
export interface TaskEcho {
  readonly api: string | null
  readonly function: string | null
  /** The store. */
  readonly se: string | null
  readonly seType: string | null
  readonly device: string | null
  readonly os: string | null
  /** app_searches only. */
  readonly keyword: string | null
  /** app_info and app_reviews only. */
  readonly appId: string | null
  /** app_list only. */
  readonly appCollection: string | null
  /** app_list only. */
  readonly appCategory: string | null
  readonly locationCode: number | null
  readonly languageCode: string | null
  /** Of functions that have one. */
  readonly depth: number | null
  readonly tag: string | null
}

export type TaskOutcome<T> =
  /** 40601, 40602: keep waiting. */
  | { readonly kind: 'pending'; readonly statusCode: number }
  | {
      readonly kind: 'done'
      readonly id: string
      /** 20000, or 40102 when the store found nothing. */
      readonly statusCode: 20000 | 40102
      /** How long the service worked on the answer; null when it does not say. */
      readonly timeSeconds: number | null
      readonly data: TaskEcho
      /** Null with 40102. */
      readonly result: T | null
    }
  /** Another 4xxxx: the task failed, is unknown, or its result is gone. */
  | { readonly kind: 'failed'; readonly statusCode: number; readonly message: string }

const name = wireText(500)

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
  location_code: optionalInteger,
  language_code: name,
  depth: optionalInteger,
  tag: name,
})

/**
 * Fetches one result and reads it.
 * @throws UnreadableError with the path of a field that breaks the contract; what `getResult` throws
 */
export async function getParsed<T>(
  transport: Transport,
  address: TaskAddress,
  parse: (result: unknown) => T,
): Promise<TaskOutcome<T>> {
  const { outcome, task } = await fetchTask(transport, address)
  if (outcome.kind !== 'done') return outcome
  const { serviceId, statusCode, result } = outcome
  return {
    kind: 'done',
    id: serviceId,
    statusCode,
    timeSeconds: task?.timeSeconds ?? null,
    data: readEcho(task?.data),
    result: result === null ? null : parse(result),
  }
}

/** Nothing hangs on the echo: one that cannot be read is empty. */
function readEcho(data: unknown): TaskEcho {
  return echo.safeParse(data).data ?? echo.parse({})
}
