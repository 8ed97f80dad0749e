/** The channels that people write, and what they lack of the environment. */
import type { Config } from '../config.ts'
import type { SqlRunner } from '../db/database.ts'
import { ConfigurationError } from '../errors.ts'
import type { SectionName } from '../sections.ts'

export type AlertSettings = Config['alerts']

export interface Channel {
  readonly id: number
  readonly name: string
  readonly kind: 'webhook' | 'slack' | 'teams' | 'discord' | 'email'
  readonly address: string | null
  readonly secretVariable: string | null
  readonly maxLines: number
  readonly report: boolean
  readonly digest: 'instant' | 'daily' | 'weekly' | 'monthly'
  /** Sections of the report that its digests leave out. */
  readonly without: readonly SectionName[]
  readonly enabled: boolean
}

/** All of them, by their names. */
export async function readChannels({ sql }: { readonly sql: SqlRunner }): Promise<Channel[]> {
  return sql<Channel[]>`
    select id, name, kind, address, secret_variable as "secretVariable", max_lines as "maxLines",
      report, digest, without, enabled
    from alert_channel order by name`
}

/** @throws ConfigurationError with what to set, when the variable of the channel is missing */
export function secretOf(channel: Channel, { secrets }: AlertSettings): string {
  const name = channel.secretVariable ?? ''
  const secret = secrets.get(name)
  if (secret !== undefined) return secret.reveal()
  throw new ConfigurationError(
    `The environment variable ${name}, which the channel "${channel.name}" names, is not set for the ` +
      'runners: set it, and start them again.',
  )
}
