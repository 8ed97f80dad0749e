/** The service of a command: the person's account, or the sandbox. Nothing else knows which. */
import type { Config } from '../config.ts'
import type { ProxySettings } from '../proxy.ts'
import type { StoreNames } from '../service/dialect.ts'
import { type AttachedSandbox, attachSandbox } from './sandbox-process.ts'

export interface ServiceAccess extends AttachedSandbox {
  /** What its paths call the stores; without it, as its host is known to. */
  readonly stores?: StoreNames
  readonly proxy?: ProxySettings
  /** What was posted so short a time ago may not be listed yet; without it, as for an account. */
  readonly unlistedMs?: number
}

/** @param onStart called when a sandbox must be started, which takes a second or two */
export async function openService(
  { service, home, proxy }: Config,
  onStart = () => {},
): Promise<ServiceAccess> {
  if (service === null) return { ...(await attachSandbox({ home, onStart })), unlistedMs: 0 }
  const { url, login, password, stores } = service
  const named = stores === null ? {} : { stores }
  return { url, login, ...named, proxy, password: password.reveal(), dispose: async () => {} }
}
