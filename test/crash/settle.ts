/** The end of a run: nothing is disturbed any more, and the runners go on until nothing is open. */
import { setTimeout as sleep } from 'node:timers/promises'
import { type Runner, stopRunners } from './runners.ts'
import type { World } from './world.ts'

const LOOK_EVERY_MS = 300

/**
 * Waits until nothing is open and all runners have stopped, or the time is over.
 * @param start replaces a runner that has ended; null: the others go on without it
 */
export async function settle(
  world: World,
  runners: Runner[],
  start: (() => Runner) | null,
  withinMs: number,
): Promise<void> {
  const untilMs = performance.now() + withinMs
  for (;;) {
    for (const [index, runner] of runners.entries()) {
      runner.signal('SIGCONT')
      if (start !== null && !runner.isAlive()) runners[index] = start()
    }
    await sleep(LOOK_EVERY_MS)
    if ((await countAllOpen(world)) > 0 && performance.now() < untilMs) continue
    await stopRunners(runners)
    // Between the look and the end another plan may have been made.
    if ((await countAllOpen(world)) === 0 || performance.now() > untilMs || start === null) return
  }
}

async function countAllOpen(world: World): Promise<number> {
  const { behind, planned, posting, posted, posts } = await world.countOpen()
  return behind + planned + posting + posted + posts
}
