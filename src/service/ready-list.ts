/** The list of tasks whose results wait to be fetched. */

import { readTag } from './envelope.ts'
import { isObject, readIdentifier } from './fields.ts'
import type { Store, TaskFunction } from './functions.ts'
import { rowsOf } from './replies.ts'
import type { Transport } from './transport.ts'

export interface ReadyRow {
  readonly id: string
  /** Null when the service sends none: the task may belong to another program of the account. */
  readonly tag: string | null
  /** Where the result is fetched; always a path of the service itself. */
  readonly path: string
  readonly kind: 'advanced' | 'html'
}

/** The rows that can be fetched, and how many were dropped because they cannot. */
export type ReadyList = ReadyRow[] & { readonly dropped: number }

/** SERVICE-NOTES: tasks_ready limits. A list this long, dropped rows included, may have more behind it. */
export const MAX_READY_ROWS = 1000

/**
 * Lists ready tasks, oldest first. Rows without an id or a path, or whose path leaves the service or names
 * another id, are dropped and counted in `dropped`.
 */
export async function listReady(transport: Transport, store: Store, fn: TaskFunction): Promise<ReadyList> {
  const path = `/v3/app_data/${store}/${fn}/tasks_ready`
  const reply = await transport.callFree({ kind: 'tasks_ready', method: 'GET', path })
  const sent = rowsOf(reply, `GET ${path}`)
  const rows = sent.map(readReadyRow).filter((row) => row !== null)
  return Object.assign(rows, { dropped: sent.length - rows.length })
}

function readReadyRow(value: unknown): ReadyRow | null {
  if (!isObject(value)) return null
  const id = readIdentifier(value.id, 64)
  const advanced = readResultPath(value.endpoint_advanced)
  const path = advanced ?? readResultPath(value.endpoint_html)
  if (id === null || path === null || !path.endsWith(`/${id}`)) return null
  return { id, tag: readTag(value.tag), path, kind: advanced === null ? 'html' : 'advanced' }
}

/** A path below `/v3/` on the service's own origin; null for anything that could lead elsewhere. */
export function readResultPath(value: unknown): string | null {
  if (typeof value !== 'string' || value.length > 500) return null
  return /^\/v3(\/[\w-]+)+$/.test(value) ? value : null
}
