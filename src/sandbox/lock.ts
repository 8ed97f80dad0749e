/**
 * A lock that the operating system drops with the process that held it, however that died: nothing stale to
 * clean up, no pid to trust. SQLite's own file lock is the portable one that Node brings.
 */

import { DatabaseSync } from 'node:sqlite'

/** SQLite's result code for a lock that another process holds. */
const SQLITE_BUSY = 5

/** Another process has the state file. */
export class StateInUseError extends Error {}

const openFile = (file: string): DatabaseSync => {
  try {
    return new DatabaseSync(file, { timeout: 0 })
  } catch (cause) {
    const why = 'its folder has to be there, and writable for us'
    throw new Error(`${file} cannot be opened: ${why}.`, { cause })
  }
}

/** Takes the lock or throws StateInUseError at once. Returns what gives it back. */
export const takeLock = (file: string): (() => void) => {
  const database = openFile(file)
  try {
    database.exec('pragma journal_mode = memory; begin exclusive')
  } catch (cause) {
    database.close()
    if ((cause as { errcode?: number }).errcode !== SQLITE_BUSY) throw cause
    throw new StateInUseError(`Another sandbox is using ${file}.`, { cause })
  }
  return () => database.close()
}
