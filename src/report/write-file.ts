/** A file whole or not at all, whoever reads it meanwhile; and what is no ordinary file. */
import { randomBytes } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { copyFile, lstat, open, readdir, realpath, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { ConfigurationError } from '../errors.ts'
import { whyNot } from '../trouble.ts'

const DRAFT_NAME = /\.[0-9a-f]{8}\.draft$/
/** The writer of a draft that nothing was added to for so long is dead. */
const ABANDONED_MS = 3_600_000

/**
 * Who may read a file that is new, beside its owner: those whom the umask leaves, those who may read the
 * folder that it is in, by its mode and its group, or nobody. What is written again keeps its mode, but for
 * that of a folder: who changes it changes the pages.
 */
type Readers = 'by umask' | 'of folder' | 'nobody'

type Content = string | AsyncIterable<string | Uint8Array>

/**
 * Where an ordinary file stands, at the end of its links, or nothing, it is written beside it and renamed, so
 * that a reader finds the old file or the new one. Into anything else, such as a pipe, a device or a mounted
 * file, it is written.
 * @param file an absolute path
 * @throws ConfigurationError when the file system refuses it, and whatever `content` throws
 */
export async function writeWholeFile(file: string, content: Content, readers: Readers = 'by umask') {
  try {
    const place = await findPlace(file)
    if (place === null) await writeInto(file, content)
    else await replace(place, content, await chooseRights(place, readers))
  } catch (error) {
    const { syscall } = error as NodeJS.ErrnoException
    if (syscall === undefined) throw error
    throw new ConfigurationError(`${file} cannot be written: ${whyNot(error)}.`, { cause: error })
  }
}

/** What is of the kernel cannot be replaced, even where it looks like a file. */
const OF_KERNEL = /^\/(dev\/(?!shm\/)|proc\/|sys\/)/

/** The path of the file to replace; null where something else stands. */
async function findPlace(file: string): Promise<string | null> {
  if (OF_KERNEL.test(file)) return null
  const found = await stat(file).catch(nullIfMissing)
  if (found !== null) return found.isFile() ? realpath(file) : null
  const link = await lstat(file).catch(nullIfMissing)
  return link === null ? file : null
}

function nullIfMissing(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT') return null
  throw error
}

/** Null: what the umask leaves; without a group that of the process. */
type Rights = { readonly mode: number | null; readonly group?: number }

async function chooseRights(file: string, readers: Readers): Promise<Rights> {
  if (readers === 'of folder') {
    const { mode, gid } = await stat(dirname(file))
    return { mode: mode & 0o644, group: gid }
  }
  const before = await stat(file).catch(nullIfMissing)
  if (before !== null) return { mode: before.mode & 0o777 }
  return { mode: readers === 'nobody' ? 0o600 : null }
}

async function replace(file: string, content: Content, { mode, group }: Rights): Promise<void> {
  const draft = `${file}.${randomBytes(4).toString('hex')}.draft`
  try {
    {
      await using handle = await open(draft, 'wx', mode ?? 0o644)
      // A group that is not one of ours cannot be given.
      if (group !== undefined) await handle.chown(-1, group).catch(() => {})
      if (mode !== null) await handle.chmod(mode)
      await handle.writeFile(content)
      await handle.sync()
    }
    await rename(draft, file).catch((error: NodeJS.ErrnoException) => {
      // Something is mounted there.
      if (error.code !== 'EBUSY') throw error
      return copyFile(draft, file)
    })
  } finally {
    await rm(draft, { force: true }).catch(() => {})
  }
}

/** A stream of this process goes on where it is, also where it is a file. */
async function writeInto(file: string, content: Content): Promise<void> {
  const [, name] = /^\/(?:dev\/(?:fd\/)?|proc\/self\/fd\/)(stdout|stderr|1|2)$/.exec(file) ?? []
  const fd = name === undefined ? undefined : Number(/[12]/.exec(name)?.[0] ?? (name === 'stdout' ? 1 : 2))
  const options = fd === undefined ? {} : { fd, autoClose: false }
  await pipeline(
    typeof content === 'string' ? Readable.from([content]) : content,
    createWriteStream(file, options),
  )
}

/** Removes drafts whose writers were killed, as far as it can: they are in nobody's way. */
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
