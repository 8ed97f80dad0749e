/** The programs of PostgreSQL that Debian's packages have installed. */
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

export const FOLDER_OF_DEBIAN = '/usr/lib/postgresql'
const OLDEST_SERVER = 15

/** The folder of programs of the newest version that has this one; undefined where none is installed. */
export function findInstalled(program: string): string | undefined {
  if (!existsSync(FOLDER_OF_DEBIAN)) return undefined
  return readdirSync(FOLDER_OF_DEBIAN)
    .filter((version) => Number(version) >= OLDEST_SERVER)
    .sort((a, b) => Number(b) - Number(a))
    .map((version) => join(FOLDER_OF_DEBIAN, version, 'bin'))
    .find((programs) => existsSync(join(programs, program)))
}
