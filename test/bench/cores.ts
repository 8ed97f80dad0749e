/**
 * Processes on some of the cores of this machine: what one more core is worth is seen by having fewer. Linux
 * only.
 */
import { execFile } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { promisify } from 'node:util'

const run = promisify(execFile)

/**
 * Does some work while all threads of these processes, and what they start, run on the first cores alone.
 * @param list their ids, asked before and after the work, because some may have come meanwhile
 */
export async function onFirstCores<Result>(
  list: () => Promise<readonly number[]>,
  cores: number,
  work: () => Promise<Result>,
): Promise<Result> {
  if (cores >= availableParallelism()) return work()
  const put = async (last: number) => {
    for (const pid of await list()) {
      // taskset: util-linux, which every Debian has. One that has ended meanwhile needs no core.
      await run('taskset', ['--all-tasks', '--cpu-list', '--pid', `0-${last}`, String(pid)]).catch(
        (error) => {
          if (error.code === 'ENOENT') throw error
        },
      )
    }
  }
  await put(cores - 1)
  try {
    return await work()
  } finally {
    await put(availableParallelism() - 1)
  }
}
