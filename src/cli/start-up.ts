/**
 * Lets Node keep what it has compiled, beside the installed packages: that halves the CPU of a short command.
 * Where the folder cannot be written, nothing is kept. Not in the system's temporary folder, where others
 * could lay code for us to run.
 */
import { enableCompileCache } from 'node:module'
import { fileURLToPath } from 'node:url'

enableCompileCache(fileURLToPath(new URL('../../node_modules/.cache/storerank', import.meta.url)))

/** Runs the command line of this process and ends it. */
export async function main(): Promise<void> {
  const program = await import('./main.ts')
  await program.main()
}
