/** What the service says of itself at `/v3/appendix/status` (spec: Status record). */

import type { Deviations } from './deviations.ts'
import type { FaultSettings } from './faults.ts'

const ENDPOINTS = ['task_get', 'task_post', 'live', 'postback/pingback'] as const

type Said = FaultSettings['status']

const showEndpoints = (said: Said) =>
  ENDPOINTS.map((endpoint) => ({ endpoint, status: said[endpoint] ?? 'ok' }))

/** A webhook that waits for so long is late. */
const LATE_WEBHOOK_MS = 60_000

/** The status of APIs that are not ours, as it is sold: one of them is always in trouble. */
const OTHER_APIS = [
  { api: 'serp', status: 'ok', endpoints: showEndpoints({ live: 'long_response_time' }) },
  {
    api: 'keywords_data',
    status: 'partial_outage',
    endpoints: showEndpoints({ task_get: 'partial_outage' }),
  },
  { api: 'on_page', status: 'ok', endpoints: showEndpoints({}) },
]

/**
 * The records of the status endpoint. `said` is what it has been told to say, `longestWaitMs` that of a
 * webhook.
 */
export const showStatus = (said: Said, longestWaitMs: number, deviations: Deviations) => {
  const isLate = longestWaitMs > LATE_WEBHOOK_MS
  const endpoints = showEndpoints({ ...(isLate && { 'postback/pingback': 'webhook_delay' }), ...said })
  const trouble = endpoints.find(({ status }) => status !== 'ok')
  return [
    ...(deviations.has('all-apis') ? OTHER_APIS : []),
    { api: 'app_data', status: trouble?.status ?? 'ok', endpoints },
    { api: 'appendix', status: 'ok', endpoints: null },
  ]
}
