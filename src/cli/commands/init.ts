import { writeFile } from 'node:fs/promises'
import { ConfigurationError } from '../../errors.ts'
import { argument, command, usually } from '../command.ts'

/** Only its owner reads it: there will be a password in it. */
const MODE = 0o600

export const init = command({
  name: 'init',
  group: 'Set up',
  summary: 'write a file of all settings with their meaning, to be filled in',
  arguments: { file: usually('.env', argument('[file]', 'where to')) },
  examples: ['storerank init'],
  run: async ({ file }) => {
    const { drawTemplate } = await import('../env-template.ts')
    try {
      await writeFile(file, drawTemplate(), { flag: 'wx', mode: MODE })
    } catch (error) {
      const { whyNot } = await import('../../trouble.ts')
      throw new ConfigurationError(`${file} was not written: ${whyNot(error)}. Nothing was changed.`, {
        cause: error,
      })
    }
    const meaning =
      'every setting with its meaning, and none is set: with no settings storerank uses an embedded ' +
      'database ' +
      'and the sandbox'
    const next = 'Fill in what is yours, then: storerank migrate && storerank plan'
    return { parts: [`${file} has ${meaning}. ${next}`] }
  },
})
