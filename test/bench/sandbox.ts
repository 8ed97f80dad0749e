/** A sandbox as a process of its own. */
import { spawn } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

const START_LIMIT_MS = 10_000
const LOOK_EVERY_MS = 50

/** Nothing is left of it when it has ended. */
export async function startSandbox(options: Readonly<Record<string, unknown>> = {}) {
  const home = await mkdtemp(join(tmpdir(), 'storerank-bench-'))
  const announceFile = join(home, 'sandbox.json')
  const main = join(import.meta.dirname, '../../src/sandbox/main.ts')
  const sandbox = spawn(process.execPath, [main], { stdio: ['pipe', 'inherit', 'inherit'] })
  sandbox.stdin.end(JSON.stringify({ announceFile, ...options }))
  const end = async () => {
    sandbox.kill()
    await rm(home, { recursive: true, force: true })
  }
  try {
    return { url: await readUrl(announceFile), end }
  } catch (error) {
    await end()
    throw error
  }
}

async function readUrl(announceFile: string): Promise<string> {
  const deadlineMs = performance.now() + START_LIMIT_MS
  for (;;) {
    const announced = await readFile(announceFile, 'utf8').catch(() => null)
    if (announced !== null) return JSON.parse(announced).url
    if (performance.now() > deadlineMs) throw new Error('The sandbox did not start.')
    await sleep(LOOK_EVERY_MS)
  }
}
