/** The file of all settings, to be filled in. */
import { writeFile } from 'node:fs/promises'
import { ConfigurationError } from '../../errors.ts'
import { type Group, listSettings } from '../../setting.ts'
import { GROUPS } from '../../settings.ts'
import { whyNot } from '../../trouble.ts'
import { argument, command, usually } from '../command.ts'

/** Only its owner reads it: there will be a password in it. */
const MODE = 0o600
/** Of the lines between the groups. */
const WIDTH = 100

export const init = command({
  group: 'Set up',
  summary: 'write a file of all settings with their meaning, to be filled in',
  arguments: { file: usually('.env', argument('[file]', 'where to')) },
  examples: ['storerank init'],
  run: async ({ file }) => {
    try {
      await writeFile(file, drawTemplate(), { flag: 'wx', mode: MODE })
    } catch (error) {
      throw new ConfigurationError(`${file} was not written: ${whyNot(error)}. Nothing was changed.`, {
        cause: error,
      })
    }
    return {
      parts: [
        `${file} has every setting with its meaning, and none is set: with no settings storerank uses an ` +
          'embedded database and the sandbox. Fill in what is yours, then: storerank migrate && ' +
          'storerank plan',
      ],
    }
  },
})

/** Every setting, in the order in which a person meets them; commented out with its default or an example. */
export function drawTemplate(): string {
  const head = [
    '# Settings of storerank. Read where it stands in the working folder, or with --settings; the ' +
      'environment wins.',
    "# A line without # counts. In '…' a value means the same to storerank, systemd, Compose, docker and " +
      'a shell.',
    '# Keep the file to yourself: chmod 600 .env',
  ]
  return [...head, ...GROUPS.flatMap(drawGroup), ''].join('\n')
}

function drawGroup({ title, note, shape }: Group): string[] {
  const settings = listSettings(shape).flatMap(({ name, help, default: usual, example = usual ?? '' }) => [
    `# ${help}`,
    `#${name}='${example}'`,
  ])
  return ['', `# --- ${title} `.padEnd(WIDTH, '-'), ...(note === undefined ? [] : [`# ${note}`]), ...settings]
}
