/** The service of a command: the person's account, or the sandbox. Nothing else knows which. */
import type { Config } from '../config.ts'
import { claimDatabaseFor, claimSandboxFor } from '../ledger/owner.ts'
import type { ProxySettings } from '../proxy.ts'
import type { StoreNames } from '../service/dialect.ts'
import type { DatabaseSession } from './database-session.ts'
import { type AttachedSandbox, attachSandbox } from './sandbox-process.ts'

export interface ServiceAccess extends AttachedSandbox {
  /** What its paths call the stores; without it, as its host is known to. */
  readonly stores?: StoreNames
  readonly proxy?: ProxySettings
  /** What was posted so short a time ago may not be listed yet; without it, as for an account. */
  readonly unlistedMs?: number
}

/**
 * @param account of the sandbox; null: that of the embedded database
 * @param onStart called when a sandbox must be started, which takes a second or two
 */
export async function openService(
  { service, home, proxy }: Config,
  account: string | null = null,
  onStart = () => {},
): Promise<ServiceAccess> {
  if (service === null) return { ...(await attachSandbox({ home, account, onStart })), unlistedMs: 0 }
  const { url, login, password, stores } = service
  const named = stores === null ? {} : { stores }
  return { url, login, ...named, proxy, password: password.reveal(), dispose: async () => {} }
}

/**
 * Ties the database to the account of the settings.
 * @throws ConfigurationError when it belongs to another one
 */
export async function claimAccount(
  { db, embedded }: DatabaseSession,
  { service }: Config,
): Promise<{ isFirst: boolean; sandboxAccount: string | null }> {
  if (service === null)
    return { isFirst: false, sandboxAccount: await claimSandboxFor(db, embedded === null) }
  return { isFirst: await claimDatabaseFor(db, `the account ${service.login}`), sandboxAccount: null }
}
