/**
 * The tables of pages that follow from declarations in the code. `npm run docs` writes them; tables.test.ts
 * compares them.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { JOBS } from '../../jobs/index.ts'
import { columnsOf, KINDS } from '../../src/alerts/kinds/kinds.ts'
import { COMMAND_GROUPS, type Command, innerCommands } from '../../src/cli/command.ts'
import { loadCommands } from '../../src/cli/program.ts'
import { listSettings } from '../../src/setting.ts'
import { GROUPS } from '../../src/settings.ts'

const PROJECT = join(import.meta.dirname, '../..')
/** Characters of a row in a line of SQL, which has 110 with its margin. */
const LINE = 104

export interface Table {
  /** Its place in the page is between `<!-- name: … -->` and `<!-- /name -->`, in SQL behind `-- `. */
  readonly name: string
  readonly page: string
  readonly draw: () => string | Promise<string>
}

export const TABLES: readonly Table[] = [
  { name: 'commands', page: 'docs/operations.md', draw: drawCommands },
  { name: 'settings', page: 'docs/operations.md', draw: drawSettings },
  { name: 'jobs', page: 'docs/operations.md', draw: drawJobs },
  { name: 'kinds', page: 'docs/alerts.md', draw: drawKinds },
  { name: 'kinds', page: 'drizzle/objects/alerts/alert-kind.sql', draw: writeKinds },
]

/** @throws Error when the page has no such place */
export function readTable({ name, page }: Table): { text: string; replace(table: string): string } {
  const content = readFileSync(join(PROJECT, page), 'utf8')
  const [, before, text, after] =
    new RegExp(
      `^(.*<!-- ${name}: [^\n]*-->\n)(.*?)(\\s*-- <!-- /${name} -->.*|<!-- /${name} -->.*)$`,
      's',
    ).exec(content) ?? []
  if (text === undefined) throw new Error(`${page} has no place for the table ${name}.`)
  return { text, replace: (table) => `${before}${table}${after}` }
}

function drawRows(titles: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |\n`
  return [line(titles), line(titles.map(() => '---')), ...rows.map(line)].join('')
}

function drawSettings(): string {
  const rows = GROUPS.flatMap(({ title, note = '', shape }) => [
    [`**${title}**`, '', note],
    ...listSettings(shape).map(({ name, default: standard, example, help }) => [
      quote(name),
      standard ? quote(standard) : example ? `(${quote(example)})` : '',
      help,
    ]),
  ])
  return drawRows(['setting', 'default (or an example)', 'what it does'], rows)
}

function quote(text: string | undefined): string {
  return text ? `\`${text}\`` : ''
}

async function drawCommands(): Promise<string> {
  const commands = await loadCommands()
  const rows = COMMAND_GROUPS.flatMap((group) =>
    commands.filter((each) => each.group === group).flatMap((each) => listRows(each)),
  )
  return drawRows(['command', 'does'], rows)
}

function listRows(command: Command, before = ''): string[][] {
  const { name, summary, arguments: given = {} } = command
  const words = [before + name, ...Object.values(given).map(({ form = '' }) => form.replace('...', '…'))]
  return [
    [quote(words.join(' ')), summary],
    ...innerCommands(command).flatMap((inner) => listRows(inner, `${before}${name} `)),
  ]
}

function drawJobs(): string {
  return drawRows(
    ['job', 'wakes (cron, UTC)', 'does'],
    JOBS.map(({ name, cron, description }) => [quote(name), quote(cron), description]),
  )
}

function drawKinds(): string {
  const rows = KINDS.map(({ name, tells, threshold, more = '' }) => [
    quote(name),
    tells,
    threshold?.counts ?? '–',
    more,
  ])
  return drawRows(['kind', 'tells of', '`threshold`', 'more'], rows)
}

/** The rows of the view alert_kind. */
function writeKinds(): string {
  const text = (value: string) => `'${value.replaceAll("'", "''")}'`
  const rows = KINDS.map((kind) => {
    const { takes, needs } = columnsOf(kind)
    const { counts, from, to } = kind.threshold ?? {}
    const threshold = [counts === undefined ? 'null' : text(counts), from ?? 'null', to ?? 'null']
    const parts = [text(kind.name), text(kind.tells), splitArray(takes), `'{${needs}}'`, ...threshold]
    return `  (${fillLines(parts).join('\n    ')})`
  })
  return rows.join(',\n')
}

/** As many values in a line as it has room for. */
function fillLines(values: readonly unknown[]): string[] {
  const lines: string[] = []
  for (const [n, value] of values.entries()) {
    const text = `${value}${n < values.length - 1 ? ',' : ''}`
    const longer = `${lines.at(-1)} ${text}`
    if (n === 0 || longer.includes('\n') || longer.length > LINE) lines.push(text)
    else lines[lines.length - 1] = longer
  }
  return lines
}

/** As a literal in lines of bounded width. */
function splitArray(names: readonly string[]): string {
  const lines = names.join(',').match(/.{1,90}(,|$)/g) ?? ['']
  return lines
    .map((line, n) => `'${n === 0 ? '{' : ''}${line}${n === lines.length - 1 ? '}' : ''}'`)
    .join('\n    ')
}
