/** A file whole or not at all, whoever reads it meanwhile. */
import { randomBytes } from 'node:crypto'
import { open, rename, rm } from 'node:fs/promises'
import { ConfigurationError } from '../errors.ts'

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
