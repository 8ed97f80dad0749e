/** What alerts take from the environment, and what a channel lacks of it. */
import type { Secret } from '../config.ts'
import { ConfigurationError } from '../errors.ts'

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

/** Channels name variables that begin so, which only the operator sets, so that no row of a table reads another one. */
export function collectAlertSecrets(
  env: Readonly<Record<string, string | undefined>>,
  hide: (text: string) => Secret,
): ReadonlyMap<string, Secret> {
  return new Map(
    Object.entries(env).flatMap(([name, value = '']): [string, Secret][] =>
      /^ALERT_[A-Z0-9_]+$/.test(name) && value.trim() !== '' ? [[name, hide(value.trim())]] : [],
    ),
  )
}

export function isMailServer(url: URL | null): boolean {
  if (url === null || !['smtp:', 'smtps:'].includes(url.protocol) || url.hostname === '') return false
  return ['', '/'].includes(url.pathname) && url.search === ''
}

/** `ranks@example.com`, or `Ranks <ranks@example.com>`. */
export function isSender(text: string): boolean {
  return /^[^\s@<>]+@[^\s@<>]+$|^[^<>@\r\n]+ <[^\s@<>]+@[^\s@<>]+>$/.test(text)
}

export function readHosts(text: string): readonly string[] | null {
  const hosts = text.split(',').map((host) => host.trim().toLowerCase())
  return hosts.every((host) => /^[a-z0-9._:-]+$/.test(host)) ? hosts : null
}
