/** What the checks ask the service by. All calls are free, and count in the limits like those of a runner. */
import { RejectedError } from '../errors.ts'
import type { ProxySettings } from '../proxy.ts'
import type { AppDataClient } from '../service/client.ts'
import type { FreeCall, Reply } from '../service/transport.ts'

/** The service that is checked, and what is known of the one who checks it. */
export interface CheckedService {
  readonly client: AppDataClient
  readonly baseUrl: string
  /** A client that calls the stores by other names; the caller closes it. */
  readonly openNamed: (names: string) => AppDataClient
  /** `ledger.installation` of this database. */
  readonly installation: string
  /** Where results are delivered; null without POSTBACK_URL. */
  readonly postbackUrl: string | null
  readonly proxy: ProxySettings
  readonly signal: AbortSignal
}

/** A free GET. */
export function read(path: string, kind: FreeCall['kind'] = 'reference'): FreeCall {
  return { kind, method: 'GET', path }
}

/**
 * Makes a free call whose refusal is an answer too.
 * @returns null where the service does not have the path
 * @throws what `askFree` throws for anything but a missing path
 */
export async function askIfOffered(client: AppDataClient, call: FreeCall): Promise<Reply | null> {
  try {
    return await client.askFree(call)
  } catch (error) {
    if (error instanceof RejectedError && error.statusCode === NOT_FOUND) return null
    throw error
  }
}

/** The rows of an answer; none where it has none. */
export function rowsIn(reply: Reply | null): unknown[] {
  const result = reply?.task?.result
  return Array.isArray(result) ? result : []
}

const NOT_FOUND = 40400
