/** A message of alerts and a channel that takes it, for what sends them. */
import type { AlertSettings, Channel } from '../../src/alerts/channel.ts'
import type { EventRow } from '../../src/alerts/event.ts'
import { NO_PROXY } from '../../src/proxy.ts'

export const NO_ALERT_SETTINGS: AlertSettings = {
  secrets: new Map(),
  smtpUrl: null,
  smtpFrom: null,
  privateHosts: [],
  proxy: NO_PROXY,
}

export const MESSAGE = {
  id: '00000000-0000-7000-8000-000000000000',
  content: {
    type: 'alerts.test',
    at: '2026-03-01T00:00:00Z',
    project: null,
    title: 't',
    summary: [],
    lines: [],
    rest: 0,
  },
  attachment: null,
} as const
export const CHANNEL: Channel = {
  id: 1,
  name: 'ops',
  kind: 'webhook',
  address: null,
  secretVariable: 'ALERT_OPS',
  maxLines: 20,
  report: false,
  digest: 'instant',
  without: [],
  enabled: true,
}
/** Of which nothing is known but its day. */
export const EVENT: EventRow = {
  ...{ id: 1, rule_id: 1, rule: 'mine', kind: 'rank_moved', severity: 'warning', subject: '', detail: {} },
  ...{ slot: new Date('2026-03-09T00:00:00Z'), compared_slot: null, timezone: 'Europe/Berlin' },
  ...{ store: null, keyword: null, collection: null, category: null, location: null, language: null },
  ...{ app_id: null, app: null, rival_id: null, rival: null, check_url: null, place: null, latest: null },
  ...{ before: null, after: null, depth: null, depth_before: null },
  ...{ cooldown_ms: 0, weight: 1, told_slot: null },
}
