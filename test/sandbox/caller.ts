/** Calls a sandbox over real HTTP with plain fetch, and holds the clock that the sandbox reads. */

import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { FaultSettingsInput } from '../../src/sandbox/faults.ts'
import type { OptionsInput } from '../../src/sandbox/options.ts'
import { startSandbox } from '../../src/sandbox/server.ts'

export const DAY_MS = 86_400_000
export const MINUTE_MS = 60_000
export const USA = 2840
/** Limits that no test reaches. */
export const AMPLE = { callsPerMinute: 100_000, readyListsPerMinute: 100_000, idListsPerMinute: 100_000 }

// biome-ignore lint/suspicious/noExplicitAny: the answers of the wire are looked into by hand here.
export type Json = any

/** What a sandbox, a receiver or a client ends with: a test, or all tests of a file. */
export type Owner = { after(end: () => unknown): void }

export type Caller = {
  url: string
  clock: { nowMs: number }
  fetch(path: string, init?: RequestInit): Promise<Response>
  get(path: string): Promise<Json>
  post(path: string, body: unknown): Promise<Json>
  /** Replaces the faults. */
  setFaults(faults: FaultSettingsInput): Promise<Json>
  close(): Promise<void>
}

export const authorize = (login: string, password: string): string =>
  `Basic ${Buffer.from(`${login}:${password}`).toString('base64')}`

export const stamp = (timeMs: number): string =>
  `${new Date(timeMs).toISOString().slice(0, 19).replace('T', ' ')} +00:00`

/** Starts a sandbox whose clock stands still until the test moves it; stopped with its owner. */
export const openSandbox = async (owner: Owner, options: OptionsInput = {}): Promise<Caller> => {
  const clock = { nowMs: Date.UTC(2026, 9, 15, 12) }
  const sandbox = await startSandbox({ ...options, now: () => clock.nowMs })
  let closed: Promise<void> | undefined
  const close = () => {
    closed ??= sandbox.close()
    return closed
  }
  owner.after(close)
  const { login = 'sandbox', password = 'sandbox' } = options
  const headers = { authorization: authorize(login, password), 'content-type': 'application/json' }
  const call = (path: string, init: RequestInit = {}) => fetch(sandbox.url + path, { headers, ...init })
  return {
    url: sandbox.url,
    clock,
    fetch: call,
    get: async (path) => (await call(path)).json(),
    post: async (path, body) => (await call(path, { method: 'POST', body: JSON.stringify(body) })).json(),
    setFaults: async (faults) =>
      (await call('/faults', { method: 'PUT', body: JSON.stringify(faults) })).json(),
    close,
  }
}

const pathOf = (store: string, name: string, rest: string): string => `/v3/app_data/${store}/${name}/${rest}`

/** A search on the wire. */
export const task = (fields: Record<string, unknown> = {}) => ({
  keyword: 'yoga',
  location_code: USA,
  ...fields,
})

/** Posts tasks of one kind and returns the answers of the tasks. */
export const postTasks = async (
  caller: Caller,
  tasks: unknown,
  { store = 'ios_store', name = 'app_searches' } = {},
): Promise<Json[]> => (await caller.post(pathOf(store, name, 'task_post'), tasks)).tasks

/** Asks for the result of a task and returns the task. */
export const fetchTask = async (
  caller: Caller,
  id: string,
  { store = 'ios_store', name = 'app_searches', form = 'advanced' } = {},
): Promise<Json> => (await caller.get(pathOf(store, name, `task_get/${form}/${id}`))).tasks[0]

/** The rows of a ready list. */
export const listReady = async (
  caller: Caller,
  { store = 'ios_store', name = 'app_searches' } = {},
): Promise<Json[]> => (await caller.get(pathOf(store, name, 'tasks_ready'))).tasks[0].result

/** What was posted in the past days. */
export const listIds = async ({ clock, post }: Caller, days = 1, fields: Json = {}): Promise<Json[]> => {
  const range = { datetime_from: stamp(clock.nowMs - days * DAY_MS), datetime_to: stamp(clock.nowMs) }
  return (await post('/v3/app_data/id_list', { ...range, ...fields })).tasks[0].result
}

/** What failed. */
export const listErrors = async ({ post }: Caller, fields: Json = {}): Promise<Json[]> =>
  (await post('/v3/app_data/errors', [fields])).tasks[0].result

/** The money of the account. */
export const readMoney = async ({ get }: Caller): Promise<Json> =>
  (await get('/v3/appendix/user_data')).tasks[0].result[0].rates.money

/** A folder of its own, which ends with its owner: the path of a file in it. */
export const fileOf = async (owner: Owner, name: string): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'sandbox-'))
  owner.after(() => rm(folder, { recursive: true }))
  return join(folder, name)
}

/** Posts one task to a sandbox with `readyMs: 0` and returns its result element, or null. */
export const measure = async (
  caller: Caller,
  task: Record<string, unknown>,
  kind: { store?: string; name?: string; form?: string } = {},
): Promise<Json> => {
  const [posted] = await postTasks(caller, [{ location_code: USA, language_code: 'en', ...task }], kind)
  assert.equal(posted.status_code, 20100, posted.status_message)
  const fetched = await fetchTask(caller, posted.id, kind)
  return fetched.result?.[0] ?? null
}

/** The ids of the organic items, best first. */
export const organicIds = (result: Json): string[] =>
  result.items.filter((item: Json) => item.type.endsWith('_organic')).map((item: Json) => item.app_id)
