/** What a process of tests does: it takes the files that no other process has taken, one after the other. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe } from 'node:test'
import { pathToFileURL } from 'node:url'

/**
 * @param folder where a folder for each file says that it is taken
 * @param files paths below the project
 */
export async function runNext(project: string, folder: string, files: readonly string[]): Promise<void> {
  for (const file of files) {
    if (take(join(folder, file.replaceAll('/', '-')))) {
      await describe(file, () => import(pathToFileURL(join(project, file)).href))
    }
  }
}

function take(path: string): boolean {
  try {
    mkdirSync(path)
    return true
  } catch {
    return false
  }
}
