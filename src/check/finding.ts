/** What the checks ask of a service, by free calls alone, and what they find out about one assumption. */
import { RejectedError } from '../errors.ts'
import type { Reply } from '../service/answer.ts'
import type { AppDataClient } from '../service/client.ts'
import type { FreeCall } from '../service/transport.ts'

/** It is as the specification says; it is otherwise; or nobody can tell without buying. */
export type Verdict = 'holds' | 'differs' | 'unknown'

export interface Finding {
  /** The assumption, in a few words. */
  readonly about: string
  readonly verdict: Verdict
  /** Of what differs also what storerank does about it. No login, keyword or app stands in it. */
  readonly says: string
  /** Whether a person has to act before anything can be bought. */
  readonly isObstacle: boolean
}

function findingOf(verdict: Verdict, isObstacle: boolean) {
  return (about: string, says: string): Finding => ({ about, verdict, says, isObstacle })
}
export const holds = findingOf('holds', false)
/** Says also what storerank does about it. */
export const differs = findingOf('differs', false)
export const unknown = findingOf('unknown', false)
/** Says also what a person has to do. */
export const obstacle = findingOf('differs', true)

/** It holds, or it differs: each with its own sentences. */
export function judge(about: string, isSo: boolean, says: string, otherwise: string): Finding {
  return isSo ? holds(about, says) : differs(about, otherwise)
}

export type FreeKind = FreeCall['kind']

/** @throws what `askFree` throws */
export function ask(client: AppDataClient, path: string, kind: FreeKind = 'reference'): Promise<Reply> {
  return client.askFree({ kind, method: 'GET', path })
}

const NOT_FOUND = 40400

/**
 * @returns null where the service does not have the path
 * @throws what `askFree` throws for anything but a missing path
 */
export function askIfOffered(client: AppDataClient, path: string, kind?: FreeKind): Promise<Reply | null> {
  return ask(client, path, kind).catch((error: unknown) => {
    if (error instanceof RejectedError && error.statusCode === NOT_FOUND) return null
    throw error
  })
}

/** The rows of an answer; none where it has none. */
export function rowsIn(reply: Reply | null): unknown[] {
  const result = reply?.task?.result
  return Array.isArray(result) ? result : []
}
