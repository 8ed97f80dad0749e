/** The lists of tasks whose results wait to be fetched: one for each function of a store, and one for all. */
import { ConfigurationError } from '../errors.ts'
import { isNotOffered } from './answer.ts'
import type { Dialect } from './dialect.ts'
import { isObject, readIdentifier, readTag, readTimestamp } from './fields.ts'
import { findRule, type ServiceFunction, type Store } from './functions.ts'
import { rowsOf } from './replies.ts'
import type { Transport } from './transport.ts'

/** One task whose result waits to be fetched. */
export type ReadyRow = NonNullable<ReturnType<typeof readReadyRow>>

/** The rows that can be fetched, and how many were dropped because they cannot. */
export type ReadyList = ReadyRow[] & { readonly dropped: number }

/** docs/service.md: tasks_ready limits. A list this long, dropped rows included, may have more behind it. */
export const MAX_READY_ROWS = 1000

/**
 * Lists ready tasks, oldest first. Rows that cannot be fetched are dropped: without an id or a path, or with
 * one that leads elsewhere.
 * @throws ConfigurationError for a function that the store does not have; what `callFree` throws
 */
export async function listReady(transport: Transport, store: Store, fn: ServiceFunction): Promise<ReadyList> {
  const path = `/v3/app_data/${store}/${fn}/tasks_ready`
  if (findRule(store, fn) === null)
    throw new ConfigurationError(`${path} does not exist: ${store} has no ${fn}.`)
  return fetchReady(transport, path)
}

/**
 * Of all functions, in one call. Null where it is not offered (docs/service.md: one ready list), asked once.
 */
export function commonReadyList(transport: Transport): () => Promise<ReadyList | null> {
  let isOffered = true
  return async () => {
    if (!isOffered) return null
    try {
      return await fetchReady(transport, '/v3/app_data/tasks_ready')
    } catch (error) {
      if (!isNotOffered(error)) throw error
      isOffered = false
      return null
    }
  }
}

async function fetchReady(transport: Transport, path: string): Promise<ReadyList> {
  const reply = await transport.callFree({ kind: 'tasks_ready', method: 'GET', path })
  const sent = rowsOf(reply, `GET ${path}`)
  const rows = sent.map((row) => readReadyRow(row, transport.dialect)).filter((row) => row !== null)
  return Object.assign(rows, { dropped: sent.length - rows.length })
}

function readReadyRow(value: unknown, { toOurs }: Dialect) {
  if (!isObject(value)) return null
  const id = readIdentifier(value.id, 64)
  const [advanced, html] = [value.endpoint_advanced, value.endpoint_html].map((sent) => {
    const path = readResultPath(sent)
    return path && toOurs(path)
  })
  const path = advanced ?? html
  if (id === null || !path?.endsWith(`/${id}`)) return null
  return {
    /** Of the task, the service's own. */
    id,
    /** Null when the service sends none: the task may belong to another program of the account. */
    tag: readTag(value.tag),
    /** Where the result is fetched, in advanced form where there is one; a path in our words. */
    path,
    /** The form of the result at `path`. */
    kind: path === advanced ? ('advanced' as const) : ('html' as const),
    /** Where the raw pages are fetched; null when the service does not offer them. */
    htmlPath: html?.endsWith(`/${id}`) ? html : null,
    /** The store, as the service calls it. */
    se: readIdentifier(value.se, 100),
    /** Kind of the search, such as `organic`. */
    seType: readIdentifier(value.se_type, 100),
    /** UTC, to the second. */
    datePosted: readTimestamp(value.date_posted),
  }
}

/** A path below `/v3/` on the service's own origin; null for anything that could lead elsewhere. */
export function readResultPath(value: unknown): string | null {
  return typeof value === 'string' && value.length <= 500 && /^\/v3(\/[\w-]+)+$/.test(value) ? value : null
}
