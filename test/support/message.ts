/** A message of alerts and a channel that takes it, for what sends them. */
import type { AlertSettings, Channel } from '../../src/alerts/channel.ts'
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
