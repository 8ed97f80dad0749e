/** The endpoints, by the number that the specification gives them, and those that docs/service.md adds. */

export const STORES = ['ios_store', 'android_store'] as const
export type Store = (typeof STORES)[number]

const of = (store: Store, rest: string): string => `/v3/app_data/${store}/${rest}`

/** Method and path of every endpoint of a row; `{id}` is that of a task. */
export const PATHS: Readonly<Record<string, readonly string[]>> = {
  1: [`POST ${of('ios_store', 'app_searches/task_post')}`],
  2: STORES.map((store) => `GET ${of(store, 'app_info/task_get/advanced/{id}')}`),
  3: [`GET ${of('android_store', 'app_info/task_get/html/{id}')}`],
  4: [`GET ${of('android_store', 'app_list/task_get/html/{id}')}`],
  5: [`GET ${of('android_store', 'app_searches/task_get/html/{id}')}`],
  6: [`GET ${of('ios_store', 'app_reviews/task_get/advanced/{id}')}`],
  7: STORES.map((store) => `GET ${of(store, 'app_info/tasks_ready')}`),
  8: [
    `GET ${of('android_store', 'app_list/tasks_ready')}`,
    `GET ${of('android_store', 'app_searches/tasks_ready')}`,
    `GET ${of('ios_store', 'app_reviews/tasks_ready')}`,
  ],
  9: [`GET ${of('android_store', 'languages')}`],
  10: STORES.map((store) => `GET ${of(store, 'categories')}`),
  11: [`GET ${of('android_store', 'app_listings/categories')}`],
  12: [`GET ${of('ios_store', 'locations')}`],
  13: ['GET /v3/appendix/status'],
  14: ['POST /v3/appendix/webhook_resend'],
  15: ['POST /v3/app_data/errors'],
  16: ['GET /v3/appendix/errors'],
  17: ['POST /v3/app_data/id_list'],
  18: ['GET /v3/appendix/user_data'],
}

/** Endpoints that only docs/service.md has. */
export const NOTED_PATHS: readonly string[] = [
  ...STORES.map((store) => `POST ${of(store, 'app_info/task_post')}`),
  `POST ${of('android_store', 'app_searches/task_post')}`,
  `POST ${of('android_store', 'app_list/task_post')}`,
  `POST ${of('ios_store', 'app_reviews/task_post')}`,
  `GET ${of('ios_store', 'app_searches/tasks_ready')}`,
  `GET ${of('ios_store', 'app_searches/task_get/advanced/{id}')}`,
  `GET ${of('android_store', 'app_searches/task_get/advanced/{id}')}`,
  `GET ${of('android_store', 'app_list/task_get/advanced/{id}')}`,
  `GET ${of('android_store', 'locations')}`,
  `GET ${of('ios_store', 'languages')}`,
]
