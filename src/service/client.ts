/** The App Data Service as a typed client: one method per endpoint, grouped in one file per family. */

import { getUserData, type UserData } from './account.ts'
import { type ApiStatus, getStatus, listErrors, type ServiceErrorCode } from './diagnostics.ts'
import type { Store, TaskFunction } from './functions.ts'
import { listTaskIds, type TaskIdQuery, type TaskIdRow } from './history.ts'
import { type PostOutcome, postTasks, type TaskToPost } from './post-tasks.ts'
import { listReady, type ReadyList } from './ready-list.ts'
import { type Language, type Location, listCategories, listLanguages, listLocations } from './references.ts'
import { getResult, type ResultAddress, type ResultOutcome } from './task-result.ts'
import { type SendWindow, Transport, type TransportOptions } from './transport.ts'

/** Each method does what the function of its name in its family's file says. */
export interface AppDataClient {
  postTasks(
    store: Store,
    fn: TaskFunction,
    tasks: readonly TaskToPost[],
    send: SendWindow,
  ): Promise<PostOutcome>
  listReady(store: Store, fn: TaskFunction): Promise<ReadyList>
  getResult(address: ResultAddress): Promise<ResultOutcome>
  listTaskIds(query: TaskIdQuery): Promise<TaskIdRow[]>
  listLocations(store: Store): Promise<Location[]>
  listLanguages(store: Store): Promise<Language[]>
  listCategories(store: Store): Promise<string[]>
  getUserData(): Promise<UserData>
  getStatus(): Promise<ApiStatus[]>
  listErrors(): Promise<ServiceErrorCode[]>
  /** Lets what is in flight end, and begins nothing more. */
  close(): Promise<void>
}

/**
 * Opens a client; no connection is made before the first call.
 * @throws ConfigurationError for an address or credentials that cannot be used
 */
export function createClient(options: TransportOptions): AppDataClient {
  const transport = new Transport(options)
  return {
    postTasks: (store, fn, tasks, send) => postTasks(transport, store, fn, tasks, send),
    listReady: (store, fn) => listReady(transport, store, fn),
    getResult: (address) => getResult(transport, address),
    listTaskIds: (query) => listTaskIds(transport, query),
    listLocations: (store) => listLocations(transport, store),
    listLanguages: (store) => listLanguages(transport, store),
    listCategories: (store) => listCategories(transport, store),
    getUserData: () => getUserData(transport),
    getStatus: () => getStatus(transport),
    listErrors: () => listErrors(transport),
    close: () => transport.close(),
  }
}
