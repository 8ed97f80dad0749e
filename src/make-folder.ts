import { mkdir, mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

/**
 * Makes a folder and those above it, by one at a time: Node's recursive `mkdir` never ends where a file
 * system says ENOENT of a folder whose parent is there, as /proc does. Another process may make the folder
 * above at this moment, so that it is looked for once more.
 */
export async function makeFolder(folder: string, isParentMade = false): Promise<void> {
  try {
    await mkdir(folder)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EEXIST' && (await stat(folder)).isDirectory()) return
    if (code !== 'ENOENT' || isParentMade) throw error
    await makeFolder(dirname(folder))
    await makeFolder(folder, true)
  }
}

/** Works in a folder that is removed afterwards. Node has `mkdtempDisposable` only from 24.4 on. */
export async function inTemporaryFolder<T>(name: string, work: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), `storerank-${name}-`))
  try {
    return await work(folder)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
