/** A sandbox over HTTP and the two who ask it: plain fetch, and the client, which has the sandbox's clock. */

import assert from 'node:assert/strict'
import { after } from 'node:test'
import type { OptionsInput } from '../../src/sandbox/options.ts'
import type { AppDataClient } from '../../src/service/client.ts'
import type { ServiceFunction } from '../../src/service/functions.ts'
import type { PostOutcome, TaskAnswer } from '../../src/service/post-tasks.ts'
import type { TaskIdQuery } from '../../src/service/task-ids.ts'
import type { TaskToPost } from '../../src/service/task-rules.ts'
import type { AnswerHead } from '../../src/service/transport.ts'
import { AMPLE, type Caller, DAY_MS, type Json, type Owner, openSandbox, USA } from '../sandbox/caller.ts'
import { openClient, testClock } from '../service/wire-server.ts'
import { byForm, camel, inForm, isSold, pathInOurs, storeNames } from './form.ts'
import type { Store } from './paths.ts'

export { AMPLE }

export type World = Caller & {
  client: AppDataClient
  /** What the client was told of answers, the last one at the end. */
  heads: AnswerHead[]
  /** Lets a second pass, after which every list knows what was done, in both forms of the service. */
  later(): void
}

/** Starts a sandbox whose tasks are done at once, and a client of it; both end with their owner. */
export const openWorld = async (owner: Owner, options: OptionsInput = {}): Promise<World> => {
  const caller = inForm(await openSandbox(owner, { readyMs: 0, asSold: isSold(), ...options }))
  const { login = 'sandbox', password = 'sandbox' } = options
  const heads: AnswerHead[] = []
  const client = openClient(owner, caller.url, {
    login,
    password,
    ...storeNames(),
    clock: { ...testClock(), wallMs: () => caller.clock.nowMs },
    onAnswer: (head) => heads.push({ ...head, path: pathInOurs(head.path) }),
  })
  const later = () => {
    caller.clock.nowMs += 1000
  }
  return { ...caller, client, heads, later }
}

/**
 * The limits, statistics, money and prices of an account: as it is sold, two of them stand beside the rates.
 */
export const ratesOf = (record: Json): Json => {
  if (!isSold()) return record.rates
  assert.deepEqual(Object.keys(record.rates), ['limits', 'statistics'])
  return { ...record.rates, money: record.money, price: record.price }
}

/** The money of the account, by plain fetch. */
export const readMoney = async (caller: Caller): Promise<Json> =>
  ratesOf((await caller.get('/v3/appendix/user_data')).tasks[0].result[0]).money

/** The last second that a list may end with. */
export const presentOf = ({ clock }: Caller): number => clock.nowMs - byForm(0, 1000)

/** What the client lists of the past day. */
export const listHere = (world: World, fields: Partial<TaskIdQuery> = {}) =>
  world.client.listTaskIds({
    from: new Date(world.clock.nowMs - DAY_MS),
    to: new Date(presentOf(world)),
    offset: 0,
    limit: 1000,
    sort: 'asc',
    includeMetadata: true,
    ...fields,
  })

const ends: (() => unknown)[] = []
after(async () => {
  for (const end of ends) await end()
})

/** Owns what all tests of this process look at. */
export const everyTest: Owner = { after: (end) => ends.push(end) }

/** Makes a value when it is first asked for, and once for each key. */
export const once = <Value, Key = void>(make: (key: Key) => Promise<Value>) => {
  const made = new Map<Key, Promise<Value>>()
  return (key: Key): Promise<Value> => {
    const value = made.get(key) ?? make(key)
    made.set(key, value)
    return value
  }
}

/** The world of everything that only looks, the same for all of them. Its clock stands still. */
export const openSharedWorld = once(() => openWorld(everyTest, AMPLE))

/** A task of the client on its way, with what every task needs. */
export const task = (fields: Partial<TaskToPost> = {}): TaskToPost => ({
  tag: 'contract',
  subject: 'yoga',
  locationCode: USA,
  languageCode: 'en',
  ...fields,
})

const SUBJECTS = ['keyword', 'app_id', 'app_collection']

/** The fields of the wire under the names of the client. */
export const toOurs = (fields: Readonly<Record<string, unknown>>): Partial<TaskToPost> =>
  Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [
      SUBJECTS.includes(name) ? 'subject' : name === 'app_category' ? 'category' : camel(name),
      value,
    ]),
  )

/** A task on the wire, with what every search needs. */
export const wireTask = (fields: Record<string, unknown> = {}): Record<string, unknown> => ({
  keyword: 'yoga',
  location_code: USA,
  language_code: 'en',
  ...fields,
})

export const soon = () => ({ deadlineMs: performance.now() + 30_000 })

/** Posts through the client. */
export const post = (
  client: AppDataClient,
  tasks: readonly TaskToPost[],
  [store, fn]: readonly [Store, ServiceFunction] = ['ios_store', 'app_searches'],
): Promise<PostOutcome> => client.postTasks(store, fn, tasks, soon())

/** Posts through the client and returns what became of each task. */
export const postAnswered = async (
  client: AppDataClient,
  tasks: readonly TaskToPost[],
  kind?: readonly [Store, ServiceFunction],
): Promise<readonly TaskAnswer[]> => {
  const outcome = await post(client, tasks, kind)
  if (outcome.kind !== 'answered') throw new Error(`The post was ${outcome.kind}: ${JSON.stringify(outcome)}`)
  return outcome.answers
}

/** Posts one task through the client and returns its id. */
export const postOne = async (
  client: AppDataClient,
  fields: Partial<TaskToPost> = {},
  kind?: readonly [Store, ServiceFunction],
): Promise<string> => {
  const [answer] = await postAnswered(client, [task(fields)], kind)
  if (answer?.statusCode !== 20100) throw new Error(`Not created: ${JSON.stringify(answer)}`)
  return answer.serviceId ?? ''
}

/** One task of plain fetch: its answer. */
export const postWire = async (
  caller: Caller,
  fields: Record<string, unknown> = {},
  path = '/v3/app_data/ios_store/app_searches/task_post',
): Promise<Json> => (await caller.post(path, [wireTask(fields)])).tasks[0]
