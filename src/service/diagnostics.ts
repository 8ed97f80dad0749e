/** The status that the service reports of itself, and the meaning of its codes. */

import { z } from 'zod'

import { UnreadableError } from '../errors.ts'
import { textIfReadable, wireCode, wireText } from './fields.ts'
import { fetchReadableRows } from './replies.ts'
import type { Transport } from './transport.ts'

/** How one part of the service says it is. */
export interface ApiStatus {
  /** `app_data` or `appendix`. */
  readonly api: string
  /** `ok` when healthy (spec: Status record). */
  readonly status: string
  /** Each part by itself, such as `task_post`; empty when the service names none. */
  readonly endpoints: readonly {
    /** `task_get`, `task_post`, `live` or `postback/pingback`. */
    readonly endpoint: string
    /** As above. */
    readonly status: string
  }[]
}

/** What a status code means. */
export interface ServiceErrorCode {
  /** A status code, 10000 to 60000. */
  readonly code: number
  /** What it means, in the words of the service. */
  readonly message: string
}

const text = textIfReadable(500).transform((value) => value ?? '')
const name = wireText(500).pipe(z.string().min(1))

const endpoint = z.object({ endpoint: name, status: name })

/** A part whose name or status cannot be read is left out, and stops no posting. */
const status: z.ZodType<ApiStatus> = z.object({
  api: name,
  status: name,
  endpoints: z
    .array(z.unknown())
    .nullish()
    .transform((parts) => (parts ?? []).flatMap((part) => endpoint.safeParse(part).data ?? [])),
})

const errorCode: z.ZodType<ServiceErrorCode> = z.object({ code: wireCode, message: text })

/** The service's own view of its health; at most 10 calls a minute (spec: Limits). */
export function getStatus(transport: Transport): Promise<ApiStatus[]> {
  return fetchReadableRows(transport, { kind: 'status', method: 'GET', path: '/v3/appendix/status' }, status)
}

const ERRORS_CALL = { kind: 'reference', method: 'GET', path: '/v3/appendix/errors' } as const

/** Every status code of the service with its message. */
export function listErrors(transport: Transport): Promise<ServiceErrorCode[]> {
  return fetchReadableRows(transport, ERRORS_CALL, errorCode)
}

/**
 * The present by the service's own clock, whole seconds, from the Date of an answer to this very call.
 * @throws UnreadableError when the answer has none; what `callFree` throws
 */
export async function readServiceTime(transport: Transport): Promise<Date> {
  const { answeredAt } = await transport.callFree(ERRORS_CALL)
  if (answeredAt !== null) return answeredAt
  throw new UnreadableError(
    `${ERRORS_CALL.method} ${ERRORS_CALL.path} was answered without a date, so the service's clock is ` +
      'unknown.',
    'date',
  )
}
