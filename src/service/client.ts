/** The App Data Service as a typed client: one method per endpoint, grouped in one file per family. */

import { getUserData } from './account.ts'
import type { Dialect } from './dialect.ts'
import type { ServiceFunction, Store } from './functions.ts'
import { searchListings } from './listings.ts'
import {
  getStatus,
  listCategories,
  listErrors,
  listFailedTasks,
  listLanguages,
  listListingCategories,
  listLocations,
  readServiceTime,
  resendWebhooks,
} from './lists.ts'
import { postTasks } from './post-tasks.ts'
import { parseAppInfoResult, parseHtmlResult, parseReviewsResult } from './results.ts'
import { parseAppListResult, parseAppSearchesResult } from './search-result.ts'
import { listTaskIds, readListEnd } from './task-ids.ts'
import {
  getParsed,
  getResult,
  listAllReady,
  listReady,
  type ResultAddress,
  type ResultOutcome,
} from './task-result.ts'
import { type FreeCall, Transport, type TransportOptions } from './transport.ts'

/** No field of the client, so that an object with the same methods is a client too. */
const transports = new WeakMap<object, Transport>()

/**
 * A client of the App Data Service. Every call checks its request first and throws a ConfigurationError with
 * a sentence for one that breaks a rule of the specification, before anything is sent.
 *
 * Calls that cost nothing are repeated with back-off while that may help, and then throw by what the caller
 * does next: AccountError, RateLimitedError, RejectedError, UnavailableError, UnreadableError. A POST of
 * tasks is sent at most once and never throws for what happens on the way: its outcome says what is known.
 */
export class AppDataClient {
  /**
   * Posts 1 to 100 tasks of one function in one request, at most once; they are charged when they are
   * created. A task that breaks a rule is answered with 40501 and not sent. `send` says when bytes may leave,
   * such as `{ deadlineMs: performance.now() + 10_000 }`.
   */
  readonly postTasks = bind(this, postTasks)
  /** Searches the service's database of listings, at most once; `parseListingResult` reads the result. */
  readonly searchListings = bind(this, searchListings)

  /** Lists up to 1,000 tasks that are done and not fetched yet, oldest first; 20 calls a minute. */
  readonly listReady = bind(this, listReady)
  /** As `listReady`, of all functions of both stores at once; null where the service does not offer that. */
  readonly listAllReady = bind(this, listAllReady)
  /** Fetches a result as it is sent, by a path of the ready list or by id; `read` reads it at once. */
  readonly getResult = <Read = ResultOutcome>(
    address: ResultAddress,
    read?: (outcome: ResultOutcome) => Read,
    maxBytes?: number,
  ): Promise<Read> => getResult(transportOf(this), address, read, maxBytes)
  readonly getAppSearches = bindReader(this, 'app_searches', parseAppSearchesResult)
  readonly getAppInfo = bindReader(this, 'app_info', (result) => parseAppInfoResult(result))
  readonly getAppList = bindReader(this, 'app_list', parseAppListResult)
  readonly getAppReviews = bindReader(this, 'app_reviews', parseReviewsResult)
  /** Fetches the raw pages of a task of android_store, which are kept for 7 days. */
  readonly getHtml = bind(this, (transport, fn: ServiceFunction, id: string) =>
    getParsed(transport, { store: 'android_store', fn, id, form: 'html' }, parseHtmlResult),
  )

  /** What the watches of a store refer to. */
  readonly listLocations = bind(this, listLocations)
  readonly listLanguages = bind(this, listLanguages)
  readonly listCategories = bind(this, listCategories)
  readonly listListingCategories = bind(this, listListingCategories)

  /** Reads the account: limits, statistics, money and prices. */
  readonly getUserData = bind(this, getUserData)
  /** Reads how the service says it is; 10 calls a minute. */
  readonly getStatus = bind(this, getStatus)
  /** Lists every status code of the service with its message. */
  readonly listErrors = bind(this, listErrors)
  /** Asks for the present by the service's own clock, in whole seconds. */
  readonly readServiceTime = bind(this, readServiceTime)
  /** Asks for that, and up to when the list of tasks can be asked now. */
  readonly readListEnd = bind(this, readListEnd)
  /** Lists one page of the account's tasks, finished or not; 10 calls a minute. */
  readonly listTaskIds = bind(this, listTaskIds)
  /** Lists one page of what failed of late, tasks and webhooks. */
  readonly listFailedTasks = bind(this, listFailedTasks)
  /** Has the pingbacks and postbacks of 1 to 100 tasks sent again, at no charge. */
  readonly resendWebhooks = bind(this, resendWebhooks)
  /** Makes a free call, and gives the answer as it was sent: for what looks at the service itself. */
  readonly askFree = bind(this, (transport, call: FreeCall) => transport.callFree(call))
  /** Lets what is in flight end, and begins nothing more. */
  readonly close = bind(this, (transport) => transport.close())

  /** What was posted so short a time ago may not be listed yet, in milliseconds. */
  readonly unlistedMs: number
  /** How paths of the service name the stores. */
  readonly dialect: Dialect
  readonly login: string

  /**
   * Opens a client; no connection is made before the first call.
   * @throws ConfigurationError for an address or credentials that cannot be used
   */
  constructor(options: TransportOptions) {
    const transport = new Transport(options)
    transports.set(this, transport)
    this.unlistedMs = transport.unlistedMs
    this.dialect = transport.dialect
    this.login = transport.login
  }
}

function transportOf(client: object): Transport {
  return transports.get(client) as Transport
}

function bind<Rest extends unknown[], Answer>(
  client: object,
  call: (transport: Transport, ...rest: Rest) => Answer,
) {
  return (...rest: Rest): Answer => call(transportOf(client), ...rest)
}

function bindReader<Result>(
  client: object,
  fn: ServiceFunction,
  parse: (result: unknown, store: Store) => Result,
) {
  return bind(client, (transport, store: Store, id: string) =>
    getParsed(transport, { store, fn, id }, (result) => parse(result, store)),
  )
}
