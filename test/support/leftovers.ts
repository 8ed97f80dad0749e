/**
 * Processes that a run of tests has left running. Each of them has the folder of the run in its command line
 * or in its environment, or works in it or in a folder that a link in it leads to, as that of a server does.
 * Told from /proc, so on Linux only.
 */
import { readdir, readFile, readlink, realpath } from 'node:fs/promises'
import { join } from 'node:path'

/**
 * Ends them at once.
 * @param folder of the run, by a name that nothing else has
 * @returns their command lines
 */
export async function endLeftovers(folder: string): Promise<string[]> {
  const found = await findProcesses([folder, ...(await linkedServers(folder))])
  return found.flatMap(({ pid, command }) => {
    try {
      process.kill(pid, 'SIGKILL')
      return [`${pid} ${command}`]
    } catch {
      // It has ended by itself meanwhile.
      return []
    }
  })
}

/** The processes, without this one, that name or work in one of the folders. */
export async function findProcesses(folders: readonly string[]): Promise<{ pid: number; command: string }[]> {
  const pids = (await readdir('/proc').catch(() => [])).map(Number)
  const found: { pid: number; command: string }[] = []
  for (const pid of pids.filter((each) => each > 0 && each !== process.pid)) {
    const command = await commandOf(pid, folders)
    if (command !== null) found.push({ pid, command })
  }
  return found
}

/** The command line of a process of the run; null of another one, and of one that has ended. */
async function commandOf(pid: number, folders: readonly string[]): Promise<string | null> {
  const read = (name: string) => readFile(`/proc/${pid}/${name}`, 'utf8').catch(() => '')
  const command = await read('cmdline')
  const workingFolder = await readlink(`/proc/${pid}/cwd`).catch(() => '')
  const told = [command, workingFolder, await read('environ')].join('\0')
  return command !== '' && folders.some((each) => told.includes(each))
    ? command.replaceAll('\0', ' ').trim()
    : null
}

/**
 * Root's servers below a folder that their account cannot enter stand elsewhere, and `<home>/postgres` is a
 * link.
 */
async function linkedServers(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => [])
  const links = entries.filter((entry) => entry.isSymbolicLink() && entry.name === 'postgres')
  return Promise.all(links.map((link) => realpath(join(link.parentPath, link.name)).catch(() => folder)))
}
