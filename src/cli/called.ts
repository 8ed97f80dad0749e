/** How the command was called, for hints that a person copies. */
import { basename, relative } from 'node:path'

/**
 * By its name where it is on the PATH; with npx in its own folder, where npm and npx have started it; else by
 * its path.
 * @param program the path by which the process was started
 */
export function nameCommand(program = process.argv[1] ?? 'storerank', folder = process.cwd()): string {
  if (/[\\/]_npx[\\/]/.test(program)) return 'npx storerank'
  if (basename(program) === 'storerank') return 'storerank'
  return relative(folder, program).startsWith('..') ? program : 'npx storerank'
}
