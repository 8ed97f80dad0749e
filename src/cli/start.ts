/** `storerank start`: the cron runner, until SIGTERM or Ctrl-C, then stopped in order. */
import { once } from 'node:events'
import { JOBS } from '../../jobs/index.ts'
import { startRunner } from '../queue/runner.ts'
import { listNextTicks, startScheduler } from '../queue/scheduler.ts'
import type { CommandContext } from './command.ts'
import { openWorkSession } from './session.ts'

export async function run(_options: Record<string, never>, context: CommandContext): Promise<number> {
  const session = await openWorkSession(context)
  const { log, signal } = context
  try {
    if (session.embedded !== null) {
      log.warn({ psql: session.embedded.psqlUrl }, 'using the embedded database; DATABASE_URL replaces it')
    }
    if (session.sandboxUrl !== null) {
      log.warn(
        { url: session.sandboxUrl },
        'using the sandbox, whose ranks are invented; APP_DATA_URL replaces it',
      )
    }
    await startRunner(session.job, JOBS)
    const scheduler = await startScheduler(session.job, JOBS)
    for (const { job, at } of listNextTicks(JOBS)) log.info({ job, nextTick: at }, 'job scheduled')
    if (!signal.aborted) await once(signal, 'abort')
    log.info('stopping: no new work, what is in flight is finished')
    await scheduler.stop()
  } finally {
    await session.drain()
    await session.close()
  }
  log.info('stopped')
  return 0
}
