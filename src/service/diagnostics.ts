/** The status that the service reports of itself, and the meaning of its codes. */

import { z } from 'zod'

import { UnreadableError } from '../errors.ts'
import { optionalName, textIfReadable, wireCode, wireRecord } from './fields.ts'
import { fetchReadableRows } from './replies.ts'
import type { Transport } from './transport.ts'

/** How one part of the service says it is. */
export type ApiStatus = z.output<typeof status>
/** What a status code means. */
export type ServiceErrorCode = z.output<typeof errorCode>

const name = optionalName.pipe(z.string().min(1))

/** One part of it, such as `task_post`, `task_get`, `live` or `postback/pingback`. */
const endpoint = wireRecord({ endpoint: name, status: name })

const status = wireRecord({
  /** `app_data` or `appendix`. */
  api: name,
  /** `ok` when healthy (docs/service.md: Status record). */
  status: name,
  /** A part whose name or status cannot be read is left out, and stops no posting. */
  endpoints: z
    .array(z.unknown())
    .nullish()
    .transform((parts) => (parts ?? []).flatMap((part) => endpoint.safeParse(part).data ?? [])),
})

const errorCode = wireRecord({
  /** 10000 to 60000. */
  code: wireCode,
  /** In the words of the service. */
  message: textIfReadable(500).transform((value) => value ?? ''),
})

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
