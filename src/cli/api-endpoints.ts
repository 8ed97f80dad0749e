/** The names that `storerank api` takes, as paths of the service end. It imports nothing, for `--help`. */

const TASK_ENDPOINTS = [
  'app_searches/task_post',
  'app_searches/tasks_ready',
  'app_searches/task_get/advanced',
  'app_searches/task_get/html',
  'app_info/task_post',
  'app_info/tasks_ready',
  'app_info/task_get/advanced',
  'app_info/task_get/html',
  'app_list/task_post',
  'app_list/tasks_ready',
  'app_list/task_get/advanced',
  'app_list/task_get/html',
  'app_reviews/task_post',
  'app_reviews/tasks_ready',
  'app_reviews/task_get/advanced',
  'app_reviews/task_get/html',
] as const

export const API_ENDPOINTS = [
  ...TASK_ENDPOINTS,
  'locations',
  'languages',
  'categories',
  'app_listings/categories',
  'app_listings/search/live',
  'id_list',
  'app_data/tasks_ready',
  'app_data/errors',
  'appendix/errors',
  'appendix/status',
  'appendix/user_data',
  'appendix/webhook_resend',
] as const

export type ApiEndpoint = (typeof API_ENDPOINTS)[number]
export type TaskEndpoint = (typeof TASK_ENDPOINTS)[number]

export function isTaskEndpoint(endpoint: ApiEndpoint): endpoint is TaskEndpoint {
  return TASK_ENDPOINTS.some((name) => name === endpoint)
}
