/** What alerts take from the environment. */
import { NO_PROXY, type ProxySettings } from '../proxy.ts'
import type { Secret } from '../secret.ts'

export interface AlertSettings {
  /** The variables ALERT_…, by name. */
  readonly secrets: ReadonlyMap<string, Secret>
  readonly smtpUrl: Secret | null
  /** The sender of e-mail. */
  readonly smtpFrom: string | null
  /** Hosts of private networks to which alerts may be sent. */
  readonly privateHosts: readonly string[]
  readonly proxy: ProxySettings
}

export const NO_ALERT_SETTINGS: AlertSettings = {
  secrets: new Map(),
  smtpUrl: null,
  smtpFrom: null,
  privateHosts: [],
  proxy: NO_PROXY,
}
