/** The file of settings that `storerank init` writes. */
import { type Group, listSettings } from '../setting.ts'
import { GROUPS } from '../settings.ts'

/** Of the lines between the groups. */
const WIDTH = 100

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
