/**
 * What a fixed piece of work costs on this machine now: neighbours, heat and full caches make the same work
 * dearer for an hour. Linux only.
 */
import postgres from 'postgres'
import { saysOutage } from '../../src/db/outage.ts'
import { readSessionCpuMs } from '../bench/server-load.ts'

export interface Yardstick {
  /** Does the work once. A server that restarts is no error: then there is no sample. */
  sample(): Promise<void>
  /**
   * Milliseconds of CPU that a sample has cost on average since the last reading, or in the life so far when
   * there was none.
   */
  read(): number
  close(): Promise<void>
}

const WORDS = 20_000

/** Its connection runs nothing else, so that the CPU of its process is that of the work. */
export function openYardstick(url: string): Yardstick {
  const sql = postgres(url, {
    max: 1,
    onnotice: () => {},
    connection: { application_name: 'soak yardstick', jit: 'off', max_parallel_workers_per_gather: 0 },
  })
  let [samples, totalMs, lastMs] = [0, 0, 0]
  const measure = async () => {
    const [row] = await sql<{ pid: number }[]>`select pg_backend_pid() as pid`
    const pid = row?.pid ?? 0
    const beforeMs = await readSessionCpuMs(pid)
    await sql`select count(distinct md5(n::text)) from generate_series(1, ${WORDS}::int) n`
    const costMs = (await readSessionCpuMs(pid)) - beforeMs
    // The session may have ended meanwhile.
    if (Number.isNaN(costMs)) return
    totalMs += costMs
    samples += 1
  }
  return {
    sample: () =>
      measure().catch((error) => {
        if (!saysOutage(error)) throw error
      }),
    read: () => {
      if (samples > 0) lastMs = totalMs / samples
      ;[samples, totalMs] = [0, 0]
      return lastMs
    },
    close: () => sql.end(),
  }
}
