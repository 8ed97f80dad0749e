/**
 * Processes that are held to a share of a core, so that service and database are not in their way on the
 * cores of the bench: what more processes gain is seen then as on machines of their own. And processes that
 * rest, so that what fewer gain is measured beside it. Linux only.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { readProcessCpuMs } from './server-load.ts'

/** CPU of a process is counted in steps of 10 ms. */
const LOOK_EVERY_MS = 5
/** A process that waited may catch up on no more than this. */
const MAX_CREDIT_MS = 30

/** Does some work while these processes are stopped. They should have nothing in hand. */
export async function whileStopped<Result>(
  pids: readonly number[],
  work: () => Promise<Result>,
): Promise<Result> {
  const release = () => {
    for (const pid of pids) process.kill(pid, 'SIGCONT')
  }
  // A bench that is broken off leaves none behind that is stopped, and so cannot end.
  process.once('exit', release)
  for (const pid of pids) process.kill(pid, 'SIGSTOP')
  try {
    return await work()
  } finally {
    release()
    process.off('exit', release)
  }
}

/**
 * Does some work while each of these processes has no more than a share of a core: it is stopped while it is
 * ahead.
 * @param share above 0; with 1 nothing is held
 */
export async function whileHeld<Result>(
  pids: readonly number[],
  share: number,
  work: () => Promise<Result>,
): Promise<Result> {
  if (share >= 1) return work()
  return whileStopped(pids, async () => {
    const over = new AbortController()
    const held = Promise.all(pids.map((pid) => hold(pid, share, over.signal)))
    try {
      return await work()
    } finally {
      over.abort()
      await held
    }
  })
}

async function hold(pid: number, share: number, signal: AbortSignal): Promise<void> {
  let creditMs = 0
  let lastMs = performance.now()
  let lastCpuMs = await readProcessCpuMs([pid])
  while (!signal.aborted) {
    await sleep(LOOK_EVERY_MS)
    const [nowMs, cpuMs] = [performance.now(), await readProcessCpuMs([pid])]
    creditMs = Math.min(MAX_CREDIT_MS, creditMs + (nowMs - lastMs) * share - (cpuMs - lastCpuMs))
    lastMs = nowMs
    lastCpuMs = cpuMs
    process.kill(pid, creditMs < 0 ? 'SIGSTOP' : 'SIGCONT')
  }
}
