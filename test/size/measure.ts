/** Measures the project by its files: how large it is, and how much of what is hard to read. */
import { globSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

const PROJECT = resolve(import.meta.dirname, '../..')
const MAX_COLUMNS = 110
const LONG_STATEMENT = 60

export interface Source {
  /** Relative to the project. */
  readonly file: string
  readonly text: string
}

/** What each release has: a migration among it stays as it is, so that its lines may be too long. */
const RELEASED = new Set(
  globSync('test/db/released/*/*.sql', { cwd: PROJECT }).map((file) =>
    readFileSync(join(PROJECT, file), 'utf8'),
  ),
)

/** What `npm run size` prints, one number a row. */
export type Sizes = Readonly<Record<string, number>>

/** The files of the project that the patterns name. */
export function readSources(patterns: readonly string[]): Source[] {
  return globSync([...patterns], { cwd: PROJECT })
    .filter((file) => !file.startsWith('test/db/released/'))
    .sort()
    .map((file) => ({ file, text: readFileSync(join(PROJECT, file), 'utf8') }))
}

const SOURCE = ['src/**/*.{ts,js,css,html}', 'jobs/*.ts']
const SQL = ['drizzle/objects/**/*.sql', 'drizzle/0000_functions.sql', 'drizzle/distributed/*.sql']
const TEXTS = ['drizzle/objects/*.txt']
const TESTS = ['test/**/*.{ts,sql}', 'grafana/**/*.ts']

/** Each as `file:line`. */
export function listLongLines(): string[] {
  return readSources([...SOURCE, ...SQL, ...TEXTS, ...TESTS])
    .filter(({ text }) => !RELEASED.has(text))
    .flatMap(({ file, text }) =>
      text.split('\n').flatMap((line, index) => (isLong(line) ? `${file}:${index + 1}` : [])),
    )
}

/** All of them at once. */
export function measureProject(): Sizes {
  const source = readSources(SOURCE)
  const sql = readSources(SQL)
  const texts = readSources(TEXTS)
  const tests = readSources(TESTS)
  const docs = readSources(['README.md', 'CONTRIBUTING.md', 'docs/**/*.md', 'drizzle/README.md']).filter(
    ({ file }) => file !== 'docs/questions.md',
  )
  const statements = [...source.flatMap(listTemplates), ...sql.flatMap(listStatements)]
  const worked = [...source, ...sql]
  return {
    'lines of src and jobs': countLines(source),
    'lines of SQL': countLines([...sql, ...texts]),
    'lines of tests': countLines(tests),
    'words of docs': docs.reduce((sum, { text }) => sum + (text.match(/\S+/g)?.length ?? 0), 0),
    tables: count(readSources(['src/db/schema/*.ts']), /\bpgTable\(/g),
    'most common table expressions in one statement': Math.max(...statements.map(countExpressions)),
    'statements over 60 lines': statements.filter((text) => text.split('\n').length > LONG_STATEMENT).length,
    'enable_*': count(worked, /\benable_\w+/g),
    'offset 0': count(worked, /\boffset 0\b/g),
    materialized: count(worked, /\bmaterialized\b/g),
    "(select 'literal')": count(worked, /\(select '\w+'/g),
    'files that import the driver': source.filter(({ text }) => /from 'postgres'/.test(text)).length,
    'as Fragment, as never, as unknown as': count(source, /\bas (Fragment|never|unknown as)\b/g),
    'lines over 110 columns': listLongLines().length,
    'longest file': Math.max(...source.map(({ text }) => text.split('\n').length - 1)),
  }
}

function countLines(sources: readonly Source[]): number {
  return sources.reduce((sum, { text }) => sum + text.split('\n').length - 1, 0)
}

function count(sources: readonly Source[], pattern: RegExp): number {
  return sources.reduce((sum, { text }) => sum + (text.match(pattern)?.length ?? 0), 0)
}

function isLong(line: string): boolean {
  return [...line].length > MAX_COLUMNS
}

/** The template literals of a file that hold SQL. */
function listTemplates({ text }: Source): string[] {
  return [...text.matchAll(/`([^`]*)`/g)]
    .map(([, body = '']) => body)
    .filter((body) => /\b(select|insert into|update|delete from)\b/.test(body))
}

/** The queries of a file: what a semicolon ends. */
function listStatements({ text }: Source): string[] {
  return text.replace(/^--.*\n/gm, '').split(/;\s*$/m)
}

function countExpressions(statement: string): number {
  return (
    statement.match(
      /(\bwith|,)\s+(recursive\s+)?\w+(\s*\([\w, ]+\))? as (not materialized |materialized )?\(/g,
    )?.length ?? 0
  )
}
