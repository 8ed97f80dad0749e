/**
 * What the service does not offer. Some functions are of the service as it is sold alone (docs/service.md:
 * charts of the ios_store): one in the form of the specification answers 404 at their path. Then their tasks
 * fail, once a slot, and say so; nothing else waits for them.
 */
import type { SqlRunner } from '../db/database.ts'
import { FUNCTION_RULES, type ServiceFunction, type Store } from '../service/functions.ts'
import type { PostOutcome, TaskToPost } from '../service/post-tasks.ts'

interface Posted {
  readonly store: Store
  readonly function: ServiceFunction
  readonly tasks: readonly TaskToPost[]
}

const NOUNS: Readonly<Record<ServiceFunction, string>> = {
  app_searches: 'searches',
  app_info: 'pages of apps',
  app_list: 'charts',
  app_reviews: 'reviews',
}

/**
 * Turns a 404 into a refusal of each task, where it says that the function is not offered. It says so of a
 * store of which the service has given places: of another one the address may be wrong, or what the service
 * calls the store, and the tasks stay planned.
 */
export async function readNotOffered(
  db: SqlRunner,
  posted: Posted,
  outcome: PostOutcome,
): Promise<PostOutcome> {
  const { store, function: fn, tasks } = posted
  if (outcome.kind !== 'refused' || outcome.cause !== 'not_found') return outcome
  if (FUNCTION_RULES[store][fn].source !== 'sold') return outcome
  const known = await db`select from location where store = ${store} limit 1`
  if (known.length === 0) return outcome
  const { statusCode, httpStatus } = outcome
  const message =
    `The service does not offer ${NOUNS[fn]} of the ${store}: it has no such path. Nothing was bought. ` +
    'Disable the watch, or ask the service for them'
  const answers = tasks.map(({ tag }) => ({ tag, serviceId: null, statusCode, message, costMicros: 0 }))
  return { kind: 'answered', answers, httpStatus, statusCode }
}
