/** The service that a command works with: the person's own account, or the sandbox. The rest of storerank never knows which. */
import type { Config } from '../config.ts'
import { type AttachedSandbox, attachSandbox } from './sandbox-process.ts'

/** @param onStart called when a sandbox must be started, which takes a second or two */
export async function openService({ service, home }: Config, onStart = () => {}): Promise<AttachedSandbox> {
  if (service === null) return attachSandbox({ home, onStart })
  const { url, login, password } = service
  return { url, login, password: password.reveal(), dispose: async () => {} }
}
