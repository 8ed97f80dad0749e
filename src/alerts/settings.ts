/** What alerts take from the environment, and what a channel lacks of it. */

import { ConfigurationError } from '../errors.ts'
import type { Secret } from '../secret.ts'

export interface AlertSettings {
  /** The variables ALERT_…, by name. */
  readonly secrets: ReadonlyMap<string, Secret>
  readonly smtpUrl: Secret | null
  /** The sender of e-mail. */
  readonly smtpFrom: string | null
  /** Hosts of private networks to which alerts may be sent. */
  readonly privateHosts: readonly string[]
}

export const NO_ALERT_SETTINGS: AlertSettings = {
  secrets: new Map(),
  smtpUrl: null,
  smtpFrom: null,
  privateHosts: [],
}

export interface Channel {
  readonly id: number
  readonly name: string
  readonly kind: 'webhook' | 'slack' | 'email'
  readonly address: string | null
  readonly secretVariable: string | null
  readonly maxLines: number
  readonly report: boolean
  readonly digest: 'instant' | 'daily' | 'weekly'
}

/** @throws ConfigurationError with what to set, when the variable of the channel is missing */
export function secretOf(channel: Channel, { secrets }: AlertSettings): string {
  const name = channel.secretVariable ?? ''
  const secret = secrets.get(name)
  if (secret !== undefined) return secret.reveal()
  throw new ConfigurationError(
    `The environment variable ${name}, which the channel "${channel.name}" names, is not set for the runners: set it, and start them again.`,
  )
}
