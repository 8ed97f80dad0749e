/**
 * What is asked of a world by each side, told in one form: plain fetch and the client do the same, so that a
 * row which is true of both is written once. Money is in micro-dollars.
 */

import assert from 'node:assert/strict'
import type { ServiceFunction } from '../../src/service/functions.ts'
import type { Json } from '../sandbox/caller.ts'
import type { Side } from './covers.ts'
import type { Store } from './paths.ts'
import { postAnswered, readMoney, task, toOurs, type World, wireTask } from './world.ts'

type Kind = readonly [Store, ServiceFunction]
const SEARCHES: Kind = ['ios_store', 'app_searches']

type Ask = {
  /** Posts tasks under the names of the wire: the id, the code with its message, and the cost of each. */
  post(
    world: World,
    tasks: readonly Json[],
    kind?: Kind,
  ): Promise<{ id: string; said: string; cost: number }[]>
  /** The code of a result; of one that failed with its message. */
  fetch(world: World, id: string, kind?: Kind, form?: 'advanced' | 'html'): Promise<string>
  /** The ids of a ready list. */
  listReady(world: World): Promise<string[]>
  /** The ids of what failed. */
  listFailed(world: World): Promise<string[]>
  readBalance(world: World): Promise<number>
}

const micros = (usd: number): number => Math.round(usd * 1_000_000)
const pathOf = ([store, fn]: Kind): string => `/v3/app_data/${store}/${fn}`
const idsOf = (rows: readonly { id: string }[] | null): string[] => (rows ?? []).map(({ id }) => id)
const PENDING: Readonly<Record<number, string>> = { 40601: 'Task Handed.', 40602: 'Task In Queue.' }
const isFailed = (code: number): boolean => code >= 40000 && ![40102, 40601, 40602].includes(code)

const byFetch: Ask = {
  post: async (world, tasks, kind = SEARCHES) => {
    const answers: Json[] = (await world.post(`${pathOf(kind)}/task_post`, tasks.map(wireTask))).tasks
    return answers.map(({ id, status_code, status_message, cost }) => ({
      id,
      said: `${status_code} ${status_message}`,
      cost: micros(cost),
    }))
  },
  fetch: async (world, id, kind = SEARCHES, form = 'advanced') => {
    const path = `${pathOf(kind)}/task_get/${form}/${id}`
    const { status_code, status_message, result, cost } = (await world.get(path)).tasks[0]
    assert.deepEqual([result === null, cost], [status_code !== 20000, 0])
    if (PENDING[status_code]) assert.equal(status_message, PENDING[status_code])
    return isFailed(status_code) ? `${status_code} ${status_message}` : String(status_code)
  },
  listReady: async (world) => idsOf((await world.get(`${pathOf(SEARCHES)}/tasks_ready`)).tasks[0].result),
  listFailed: async (world) => idsOf((await world.post('/v3/app_data/errors', [{}])).tasks[0].result),
  readBalance: async (world) => micros((await readMoney(world)).balance),
}

const byClient: Ask = {
  post: async ({ client }, tasks, kind = SEARCHES) => {
    const ours = tasks.map((fields, index) => task({ tag: `contract.${index}`, ...toOurs(fields) }))
    const answers = await postAnswered(client, ours, kind)
    return answers.map(({ serviceId, statusCode, message, costMicros }) => ({
      id: serviceId ?? '',
      said: `${statusCode} ${message}`,
      cost: costMicros,
    }))
  },
  fetch: async ({ client }, id, [store, fn] = SEARCHES, form = 'advanced') => {
    const outcome = await client.getResult({ store, fn, id, form })
    return outcome.kind === 'failed' ? `${outcome.statusCode} ${outcome.message}` : String(outcome.statusCode)
  },
  listReady: async ({ client }) => idsOf(await client.listReady(...SEARCHES)),
  listFailed: async ({ client }) => idsOf(await client.listFailedTasks({})),
  readBalance: async ({ client }) => (await client.getUserData()).balanceMicros ?? Number.NaN,
}

export const ASK: Readonly<Record<Side, Ask>> = { fetch: byFetch, client: byClient }
