/** The service that a command works with: the person's own account, or the sandbox. The rest of storerank never knows which. */
import type { Config } from '../config.ts'
import type { StoreNames } from '../service/dialect.ts'
import { type AttachedSandbox, attachSandbox } from './sandbox-process.ts'

export interface ServiceAccess extends AttachedSandbox {
  /** What its paths call the stores; without it, as its host is known to. */
  readonly stores?: StoreNames
}

/** @param onStart called when a sandbox must be started, which takes a second or two */
export async function openService({ service, home }: Config, onStart = () => {}): Promise<ServiceAccess> {
  if (service === null) return attachSandbox({ home, onStart })
  const { url, login, password, stores } = service
  const named = stores === null ? {} : { stores }
  return { url, login, ...named, password: password.reveal(), dispose: async () => {} }
}
