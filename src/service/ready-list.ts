/** The lists of tasks whose results wait to be fetched: one for each function of a store, and one for all. */

import { ConfigurationError } from '../errors.ts'
import { isNotOffered } from './answer.ts'
import type { Dialect } from './dialect.ts'
import { readTag } from './envelope.ts'
import { isObject, readIdentifier, readTimestamp } from './fields.ts'
import { findRule, type ResultForm, type ServiceFunction, type Store } from './functions.ts'
import { rowsOf } from './replies.ts'
import type { Transport } from './transport.ts'

/** One task whose result waits to be fetched. */
export interface ReadyRow {
  /** Of the task, the service's own. */
  readonly id: string
  /** Null when the service sends none: the task may belong to another program of the account. */
  readonly tag: string | null
  /**
   * Where the result is fetched, in advanced form where there is one; always a path of the service itself, in
   * our words.
   */
  readonly path: string
  /** The form of the result at `path`. */
  readonly kind: ResultForm
  /** Where the raw pages are fetched; null when the service does not offer them. */
  readonly htmlPath: string | null
  /** The store, as the service calls it; null when missing. */
  readonly se: string | null
  /** Kind of the search, such as `organic`; null when missing. */
  readonly seType: string | null
  /** UTC, to the second; null when missing. */
  readonly datePosted: Date | null
}

/** The rows that can be fetched, and how many were dropped because they cannot. */
export type ReadyList = ReadyRow[] & { readonly dropped: number }

const MAX_NAME_LENGTH = 100

/** docs/service.md: tasks_ready limits. A list this long, dropped rows included, may have more behind it. */
export const MAX_READY_ROWS = 1000

/**
 * Lists ready tasks, oldest first. Rows without an id or a path, or whose path leaves the service or names
 * another id, are dropped and counted in `dropped`.
 * @throws ConfigurationError for a function that the store does not have; what `callFree` throws
 */
export async function listReady(transport: Transport, store: Store, fn: ServiceFunction): Promise<ReadyList> {
  const path = `/v3/app_data/${store}/${fn}/tasks_ready`
  if (findRule(store, fn) === null)
    throw new ConfigurationError(`${path} does not exist: ${store} has no ${fn}.`)
  return fetchReady(transport, path)
}

/**
 * Lists ready tasks of all functions of both stores at once: one call instead of up to eight. Null where the
 * service does not offer it (docs/service.md: one ready list), which is asked once: the function remembers
 * it.
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

function readReadyRow(value: unknown, { toOurs }: Dialect): ReadyRow | null {
  if (!isObject(value)) return null
  const id = readIdentifier(value.id, 64)
  const [advanced, html] = [value.endpoint_advanced, value.endpoint_html]
    .map(readResultPath)
    .map((path) => path && toOurs(path)) as [string | null, string | null]
  const path = advanced ?? html
  if (id === null || path === null || !path.endsWith(`/${id}`)) return null
  return {
    id,
    tag: readTag(value.tag),
    path,
    kind: advanced === null ? 'html' : 'advanced',
    htmlPath: html?.endsWith(`/${id}`) ? html : null,
    se: readIdentifier(value.se, MAX_NAME_LENGTH),
    seType: readIdentifier(value.se_type, MAX_NAME_LENGTH),
    datePosted: readTimestamp(value.date_posted),
  }
}

/** A path below `/v3/` on the service's own origin; null for anything that could lead elsewhere. */
export function readResultPath(value: unknown): string | null {
  if (typeof value !== 'string' || value.length > 500) return null
  return /^\/v3(\/[\w-]+)+$/.test(value) ? value : null
}
