/** Modules that are found by their folder, so that no list names them. A file is named as its export. */
import { readdirSync } from 'node:fs'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Of this file: `.ts` in a checkout, `.js` in a package. */
const SUFFIX = extname(import.meta.filename)

/** The names of the modules in a folder, without loading any. */
export function listModules(folder: URL): string[] {
  return readdirSync(fileURLToPath(folder))
    .filter((file) => file.endsWith(SUFFIX) && !file.endsWith(`.d${SUFFIX}`))
    .map((file) => file.slice(0, -SUFFIX.length))
    .filter((name) => name !== 'index')
    .sort()
}

/** What the module of that name exports. */
export async function loadModule(folder: URL, name: string): Promise<unknown> {
  const exported: object = await import(new URL(name + SUFFIX, folder).href)
  return Object.values(exported)[0]
}
