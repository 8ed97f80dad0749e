/** The App Data Service as a typed client: one method per endpoint, grouped in one file per family. */

import { getUserData, type UserData } from './account.ts'
import type { ParseJson } from './answer.ts'
import {
  type ApiStatus,
  getStatus,
  listErrors,
  readServiceTime,
  type ServiceErrorCode,
} from './diagnostics.ts'
import type { Dialect } from './dialect.ts'
import { type FailedTask, type FailedTaskQuery, listFailedTasks } from './failed-tasks.ts'
import type { ServiceFunction, Store } from './functions.ts'
import { type ListingOutcome, type ListingQuery, searchListings } from './listings.ts'
import { type PostOutcome, postTasks, type TaskToPost } from './post-tasks.ts'
import { commonReadyList, listReady, type ReadyList } from './ready-list.ts'
import {
  type Language,
  type ListingCategory,
  type Location,
  listCategories,
  listLanguages,
  listListingCategories,
  listLocations,
} from './references.ts'
import {
  type AppInfoResult,
  type AppListResult,
  type AppReviewsResult,
  type AppSearchesResult,
  type HtmlResult,
  parseAppInfoResult,
  parseAppListResult,
  parseAppSearchesResult,
  parseHtmlResult,
  parseReviewsResult,
} from './results.ts'
import { type ListEnd, listTaskIds, readListEnd, type TaskIdQuery, type TaskIdRow } from './task-ids.ts'
import { getParsed, type TaskOutcome } from './task-outcome.ts'
import { getResult, type ResultAddress, type ResultOutcome } from './task-result.ts'
import { type FreeCall, type Reply, type SendWindow, Transport, type TransportOptions } from './transport.ts'
import { type ResendAnswer, resendWebhooks } from './webhooks.ts'

/**
 * A client of the App Data Service. Every call checks its request first and throws a ConfigurationError with
 * a sentence for one that breaks a rule of the specification, before anything is sent.
 *
 * Calls that cost nothing are repeated with back-off while that may help, and then throw by what the caller
 * does next: AccountError, RateLimitedError, RejectedError, UnavailableError, UnreadableError. A POST of
 * tasks is sent at most once and never throws for what happens on the way: its outcome says what is known.
 */
export class AppDataClient {
  // Tasks

  /**
   * Posts 1 to 100 tasks of one function in one request, at most once; they are charged when they are
   * created. A task that breaks a rule is answered with 40501 and not sent. `send` says when bytes may leave,
   * such as `{ deadlineMs: performance.now() + 10_000 }`.
   */
  readonly postTasks: (
    store: Store,
    fn: ServiceFunction,
    tasks: readonly TaskToPost[],
    send: SendWindow,
  ) => Promise<PostOutcome>
  /**
   * Searches the service's own database of listings, at most once; it is charged when it is answered.
   * `parseListingResult` reads the result.
   */
  readonly searchListings: (store: Store, query: ListingQuery, send: SendWindow) => Promise<ListingOutcome>
  /** Lists up to 1,000 tasks that are done and not fetched yet, oldest first; 20 calls a minute. */
  readonly listReady: (store: Store, fn: ServiceFunction) => Promise<ReadyList>
  /** As `listReady`, of all functions of both stores at once; null where the service does not offer that. */
  readonly listAllReady: () => Promise<ReadyList | null>
  /** Fetches a result as it is sent, by a path of the ready list or by id; the readers of results read it. */
  readonly getResult: (address: ResultAddress, parse?: ParseJson) => Promise<ResultOutcome>
  /** Fetches what a search found. */
  readonly getAppSearches: (store: Store, id: string) => Promise<TaskOutcome<AppSearchesResult>>
  /** Fetches the details of an app. */
  readonly getAppInfo: (store: Store, id: string) => Promise<TaskOutcome<AppInfoResult>>
  /** Fetches the apps of a collection. */
  readonly getAppList: (store: Store, id: string) => Promise<TaskOutcome<AppListResult>>
  /** Fetches the reviews of an app. */
  readonly getAppReviews: (store: Store, id: string) => Promise<TaskOutcome<AppReviewsResult>>
  /** Fetches the raw pages of a task of android_store, which are kept for 7 days. */
  readonly getHtml: (fn: ServiceFunction, id: string) => Promise<TaskOutcome<HtmlResult>>

  // References

  /** Lists the locations of a store. */
  readonly listLocations: (store: Store) => Promise<Location[]>
  /** Lists the languages of a store. */
  readonly listLanguages: (store: Store) => Promise<Language[]>
  /** Lists the category values of a store. */
  readonly listCategories: (store: Store) => Promise<string[]>
  /** Lists the categories of a store with the number of listings in each. */
  readonly listListingCategories: (store: Store) => Promise<ListingCategory[]>

  // Account

  /** Reads the account: limits, statistics, money and prices. */
  readonly getUserData: () => Promise<UserData>
  /** Reads how the service says it is; 10 calls a minute. */
  readonly getStatus: () => Promise<ApiStatus[]>
  /** Lists every status code of the service with its message. */
  readonly listErrors: () => Promise<ServiceErrorCode[]>
  /** Asks for the present by the service's own clock, in whole seconds. */
  readonly readServiceTime: () => Promise<Date>

  // History

  /** What was posted so short a time ago may not be listed yet, in milliseconds. */
  readonly unlistedMs: number
  /** Asks for the present of the service, and up to when its list of tasks can be asked now. */
  readonly readListEnd: () => Promise<ListEnd>
  /** Lists one page of the account's tasks, finished or not; 10 calls a minute. */
  readonly listTaskIds: (query: TaskIdQuery) => Promise<TaskIdRow[]>
  /** Lists one page of what failed of late, tasks and webhooks. */
  readonly listFailedTasks: (query: FailedTaskQuery) => Promise<FailedTask[]>

  // Webhooks

  /** Has the pingbacks and postbacks of 1 to 100 tasks sent again, at no charge. */
  readonly resendWebhooks: (taskIds: readonly string[]) => Promise<ResendAnswer[]>

  // As it is

  /** Makes a free call, and gives the answer as it was sent: for what looks at the service itself. */
  readonly askFree: (call: FreeCall) => Promise<Reply>
  /** How paths of the service name the stores. */
  readonly dialect: Dialect

  /** Lets what is in flight end, and begins nothing more. */
  readonly close: () => Promise<void>

  /**
   * Opens a client; no connection is made before the first call.
   * @throws ConfigurationError for an address or credentials that cannot be used
   */
  constructor(options: TransportOptions) {
    const transport = new Transport(options)
    this.postTasks = (...post) => postTasks(transport, ...post)
    this.searchListings = (...search) => searchListings(transport, ...search)
    this.listReady = (...list) => listReady(transport, ...list)
    this.listAllReady = commonReadyList(transport)
    this.getResult = (...fetch) => getResult(transport, ...fetch)
    this.getAppSearches = (store, id) =>
      getParsed(transport, { store, fn: 'app_searches', id }, parseAppSearchesResult)
    this.getAppInfo = (store, id) => getParsed(transport, { store, fn: 'app_info', id }, parseAppInfoResult)
    this.getAppList = (store, id) => getParsed(transport, { store, fn: 'app_list', id }, parseAppListResult)
    this.getAppReviews = (store, id) =>
      getParsed(transport, { store, fn: 'app_reviews', id }, (result) => parseReviewsResult(result, store))
    this.getHtml = (fn, id) =>
      getParsed(transport, { store: 'android_store', fn, id, form: 'html' }, parseHtmlResult)
    this.listLocations = (store) => listLocations(transport, store)
    this.listLanguages = (store) => listLanguages(transport, store)
    this.listCategories = (store) => listCategories(transport, store)
    this.listListingCategories = (store) => listListingCategories(transport, store)
    this.getUserData = () => getUserData(transport)
    this.getStatus = () => getStatus(transport)
    this.listErrors = () => listErrors(transport)
    this.readServiceTime = () => readServiceTime(transport)
    this.unlistedMs = transport.unlistedMs
    this.readListEnd = () => readListEnd(transport)
    this.listTaskIds = (query) => listTaskIds(transport, query)
    this.listFailedTasks = (query) => listFailedTasks(transport, query)
    this.resendWebhooks = (taskIds) => resendWebhooks(transport, taskIds)
    this.askFree = (call) => transport.callFree(call)
    this.dialect = transport.dialect
    this.close = () => transport.close()
  }
}
