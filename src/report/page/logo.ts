/** The picture beside the title of the page. */
import { readFile, stat } from 'node:fs/promises'
import { extname } from 'node:path'
import { ConfigurationError } from '../../errors.ts'
import { whyNot } from '../../trouble.ts'

/** By the end of the file's name. */
const LOGO_TYPES: Readonly<Record<string, string>> = {
  '.png': 'image/png',
  '.jpg': 'image/jpeg',
  '.jpeg': 'image/jpeg',
  '.svg': 'image/svg+xml',
  '.webp': 'image/webp',
}
/** It is in every page. */
const LARGEST_LOGO_BYTES = 200_000

/** @throws ConfigurationError when it cannot be read, is too large, or is no picture */
export async function readLogo(file: string): Promise<string> {
  const type = LOGO_TYPES[extname(file).toLowerCase()]
  if (type === undefined) {
    throw new ConfigurationError(
      `The logo ${file} is none that a browser shows: its name must end in ` +
        `${Object.keys(LOGO_TYPES).join(', ')}.`,
    )
  }
  try {
    const { size } = await stat(file)
    if (size > LARGEST_LOGO_BYTES) {
      throw new Error(`it has ${size} bytes, and the page takes ${LARGEST_LOGO_BYTES} at most`)
    }
    return `data:${type};base64,${(await readFile(file)).toString('base64')}`
  } catch (error) {
    throw new ConfigurationError(`The logo ${file} cannot be used: ${whyNot(error)}.`, { cause: error })
  }
}
