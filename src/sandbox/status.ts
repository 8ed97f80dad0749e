/** What the service says of itself at `/v3/appendix/status` (spec: Status record). */

import type { FaultSettings } from './faults.ts'

const ENDPOINTS = ['task_get', 'task_post', 'live', 'postback/pingback'] as const

/** A webhook that waits for so long is late. */
const LATE_WEBHOOK_MS = 60_000

/** The records of the status endpoint. `said` is what it has been told to say, `longestWaitMs` that of a webhook. */
export const showStatus = (said: FaultSettings['status'], longestWaitMs: number) => {
  const endpoints = ENDPOINTS.map((endpoint) => {
    const isLate = endpoint === 'postback/pingback' && longestWaitMs > LATE_WEBHOOK_MS
    return { endpoint, status: said[endpoint] ?? (isLate ? 'webhook_delay' : 'ok') }
  })
  const trouble = endpoints.find(({ status }) => status !== 'ok')
  return [
    { api: 'app_data', status: trouble?.status ?? 'ok', endpoints },
    { api: 'appendix', status: 'ok', endpoints: null },
  ]
}
