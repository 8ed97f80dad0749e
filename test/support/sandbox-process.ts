/** The sandbox as a process of its own. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

export interface SandboxProcess {
  readonly url: string
  stop(): Promise<void>
}

/** Of a command that has both: its database, and an account of the service. */
export function settingsOf(
  databaseUrl: string,
  serviceUrl: string,
  { login, password } = { login: 'sandbox', password: 'sandbox' },
) {
  const account = { APP_DATA_LOGIN: login, APP_DATA_PASSWORD: password }
  return { DATABASE_URL: databaseUrl, APP_DATA_URL: serviceUrl, ...account }
}

const SANDBOX = fileURLToPath(new URL('../../src/sandbox/main.ts', import.meta.url))
const ANNOUNCED_WITHIN_MS = 20_000
const LOOK_EVERY_MS = 50

/**
 * Nothing is left of it when it has ended. One that nobody asks any more leaves by itself.
 * @param options of src/sandbox/main.ts
 */
export async function startSandboxProcess(
  options: Readonly<Record<string, unknown>>,
): Promise<SandboxProcess> {
  const folder = await mkdtemp(join(tmpdir(), 'storerank-sandbox-process-'))
  const announceFile = join(folder, 'announced')
  const child = spawn(process.execPath, [SANDBOX], { stdio: ['pipe', 'inherit', 'inherit'] })
  child.stdin.end(JSON.stringify({ idleExitMs: 120_000, ...options, announceFile }))
  const stop = async () => {
    const isOver = child.exitCode !== null || child.signalCode !== null
    if (!isOver && child.kill('SIGKILL')) await once(child, 'exit')
    await rm(folder, { recursive: true, force: true })
  }
  const deadlineMs = performance.now() + ANNOUNCED_WITHIN_MS
  for (;;) {
    const announced = await readFile(announceFile, 'utf8').catch(() => null)
    if (announced !== null) return { url: JSON.parse(announced).url, stop }
    if (child.exitCode !== null || performance.now() > deadlineMs) {
      await stop()
      throw new Error('The sandbox does not start.')
    }
    await sleep(LOOK_EVERY_MS)
  }
}
