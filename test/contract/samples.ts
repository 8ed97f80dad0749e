/**
 * One task of every kind in the shared world, posted once by plain fetch, and its result as each side gets
 * it.
 */

import assert from 'node:assert/strict'
import type { AppDataClient } from '../../src/service/client.ts'
import type { ServiceFunction } from '../../src/service/functions.ts'
import type { TaskOutcome } from '../../src/service/task-result.ts'
import { type Json, USA } from '../sandbox/caller.ts'
import type { Store } from './paths.ts'
import { once, openSharedWorld } from './world.ts'

type Kind = {
  store: Store
  fn: ServiceFunction
  form: 'advanced' | 'html'
  subject: Record<string, unknown>
  read(client: AppDataClient, id: string): Promise<TaskOutcome<unknown>>
}

const info = (store: Store, appId: string): Kind => ({
  store,
  fn: 'app_info',
  form: 'advanced',
  subject: { app_id: appId },
  read: (client, id) => client.getAppInfo(store, id),
})
const searches = (store: Store): Kind => ({
  store,
  fn: 'app_searches',
  form: 'advanced',
  subject: { keyword: 'yoga', depth: 60 },
  read: (client, id) => client.getAppSearches(store, id),
})
const html = (fn: 'app_info' | 'app_list' | 'app_searches', subject: Kind['subject']): Kind => ({
  store: 'android_store',
  fn,
  form: 'html',
  subject,
  read: (client, id) => client.getHtml(fn, id),
})

const CHART = { app_collection: 'topselling_free', app_category: 'game', depth: 50 }

export const KINDS = {
  iosInfo: info('ios_store', '1348829690'),
  androidInfo: info('android_store', 'com.ivleaf.hatha31'),
  /** Its version, system and size vary with the device. */
  androidVaries: info('android_store', 'com.penlarch.budget'),
  iosSearches: searches('ios_store'),
  androidSearches: searches('android_store'),
  androidList: {
    store: 'android_store',
    fn: 'app_list',
    form: 'advanced',
    subject: CHART,
    read: (client, id) => client.getAppList('android_store', id),
  },
  iosReviews: {
    store: 'ios_store',
    fn: 'app_reviews',
    form: 'advanced',
    subject: { app_id: '1480010017', depth: 20 },
    read: (client, id) => client.getAppReviews('ios_store', id),
  },
  htmlInfo: html('app_info', { app_id: 'com.ashlune.yoga' }),
  htmlList: html('app_list', CHART),
  htmlSearches: html('app_searches', { keyword: 'yoga', depth: 60 }),
} as const satisfies Record<string, Kind>

export type KindName = keyof typeof KINDS

/** What plain fetch was answered at posting and at fetching. */
type Sample = { posted: Json; fetched: Json; task: Json; result: Json }

/** The task of a kind, as plain fetch sees it. */
export const sampleOf = once(async (name: KindName): Promise<Sample> => {
  const { store, fn, form, subject }: Kind = KINDS[name]
  const world = await openSharedWorld()
  const base = `/v3/app_data/${store}/${fn}`
  const fields = { location_code: USA, language_code: 'en', tag: `tag of ${name}`, ...subject }
  const posted = await world.post(`${base}/task_post`, [fields])
  const fetched = await world.get(`${base}/task_get/${form}/${posted.tasks[0].id}`)
  assert.equal(fetched.tasks[0].status_code, 20000, `${name}: ${fetched.tasks[0].status_message}`)
  return { posted, fetched, task: fetched.tasks[0], result: fetched.tasks[0].result[0] }
})

/** The same task, as the client gives it. */
export const readingOf = once(async (name: KindName): Promise<Json> => {
  const { task } = await sampleOf(name)
  const outcome = await KINDS[name].read((await openSharedWorld()).client, task.id)
  assert.equal(outcome.kind, 'done')
  return outcome
})
