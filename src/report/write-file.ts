/** A file whole or not at all, whoever reads it meanwhile. */
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { lstat, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { ConfigurationError } from '../errors.ts'

const DRAFT_NAME = /\.[0-9a-f]{8}\.draft$/
/** The writer of a draft that nothing was added to for so long is dead. */
const ABANDONED_MS = 3_600_000

/**
 * Writes beside the file and renames, so that a reader finds the old file or the new one.
 * @throws ConfigurationError when the file system refuses it, and whatever `content` throws
 */
export async function writeWholeFile(
  file: string,
  content: string | AsyncIterable<string | Uint8Array>,
): Promise<void> {
  const draft = `${file}.${randomBytes(4).toString('hex')}.draft`
  try {
    const handle = await open(draft, 'wx', 0o644)
    try {
      await handle.writeFile(content)
      await handle.sync()
    } finally {
      await handle.close()
    }
    await rename(draft, file)
  } catch (error) {
    await rm(draft, { force: true }).catch(() => {})
    const { syscall, message } = error as NodeJS.ErrnoException
    if (syscall === undefined) throw error
    throw new ConfigurationError(`${file} cannot be written: ${message}.`, { cause: error })
  }
}

/**
 * Removes the drafts in a folder whose writers were killed. One that another process may still be writing
 * stays, and so does what cannot be removed, because drafts are in nobody's way.
 */
export async function sweepDrafts(folder: string, nowMs: number): Promise<void> {
  for (const name of await readdir(folder)) {
    if (!DRAFT_NAME.test(name)) continue
    const draft = join(folder, name)
    try {
      const file = await lstat(draft)
      if (file.isFile() && nowMs - file.mtimeMs > ABANDONED_MS) await rm(draft)
    } catch {}
  }
}

/**
 * Makes a folder and those above it, by one at a time: Node's recursive `mkdir` never ends where a file
 * system says ENOENT of a folder whose parent is there, as /proc does.
 */
export async function makeFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EEXIST' && (await stat(folder)).isDirectory()) return
    if (code !== 'ENOENT' || existsSync(dirname(folder))) throw error
    await makeFolder(dirname(folder))
    await makeFolder(folder)
  }
}
