/**
 * What a result looks like, by one of each function that the account has bought already: to fetch it again is
 * free.
 */
import { RejectedError } from '../errors.ts'
import type { AppDataClient } from '../service/client.ts'
import { isObject } from '../service/fields.ts'
import { type CheckedService, read } from './checked-service.ts'
import { differs, type Finding, holds, unknown } from './finding.ts'

const POSTED = /\/v3\/app_data\/([\w-]+)\/(app_searches|app_info|app_list|app_reviews)\/task_post$/
/** Of the newest rows, so many are looked at. */
const MOST = 8
/** The specification's own beginnings of the types. */
const SPECIFIED_TYPES = /^(ios|android)_store_/
const OLDER_MS = 6 * 86_400_000

/** @param rows the raw rows of id_list, the newest first */
export async function checkResults(
  { client }: CheckedService,
  rows: readonly Record<string, unknown>[],
): Promise<Finding[]> {
  const about = 'form of results'
  const items = await readItems(client, chooseTasks(rows))
  if (items.length === 0) {
    return [unknown(about, 'The account has no result that could be looked at.')]
  }
  const types = [...new Set(items.map(({ item }) => String(item.type)))].sort()
  const nulls = items.filter(({ result, item }) => result.check_url === null || item.rating === null)
  return [
    types.every((type) => SPECIFIED_TYPES.test(type))
      ? holds(about, `Items are ${types.join(', ')}.`)
      : differs(
          about,
          `Items are ${types.join(', ')}.`,
          'What ends in _organic is ranked, whatever it begins with.',
        ),
    nulls.length === 0
      ? holds('fields of results', 'Each has an address to look it up, and ratings.')
      : differs('fields of results', 'Addresses to look them up, or ratings, are null.', 'They are kept so.'),
  ]
}

/** The newest finished task of each store and function, as the path of its result. */
function chooseTasks(rows: readonly Record<string, unknown>[]): string[] {
  const paths = new Map<string, string>()
  for (const { url, id, datetime_done: done } of rows) {
    const [, store = '', fn = ''] = POSTED.exec(String(url)) ?? []
    const isRecent = Date.now() - Date.parse(String(done).replace(' +00:00', 'Z')) < OLDER_MS
    if (fn === '' || !isRecent || paths.size >= MOST) continue
    const key = `${store}/${fn}`
    if (!paths.has(key)) paths.set(key, `/v3/app_data/${key}/task_get/advanced/${String(id)}`)
  }
  return [...paths.values()]
}

type Parts = { result: Record<string, unknown>; item: Record<string, unknown> }

async function readItems(client: AppDataClient, paths: readonly string[]): Promise<Parts[]> {
  const found: Parts[] = []
  for (const path of paths) {
    const [result] = await readResult(client, path)
    if (!isObject(result) || !Array.isArray(result.items)) continue
    for (const item of result.items.filter(isObject)) found.push({ result, item })
  }
  return found
}

async function readResult(client: AppDataClient, path: string): Promise<unknown[]> {
  try {
    const reply = await client.askFree(read(path, 'task_get'))
    return Array.isArray(reply.task?.result) ? reply.task.result : []
  } catch (error) {
    if (error instanceof RejectedError) return []
    throw error
  }
}
