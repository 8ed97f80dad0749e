/**
 * What people do wrong, and the exact words that they read: the catalogue is test/mistakes/catalogue.md. A
 * line that begins with `> ` is tried, and what stands below it is the answer. `npm run mistakes` writes the
 * answers anew; read them before you commit them.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { before, test } from 'node:test'
import postgres from 'postgres'
import { STORES } from '../../src/sandbox/offers.ts'
import { listLanguages, placesOf } from '../../src/sandbox/reference.ts'
import { callCommand } from '../support/command.ts'
import { createTestDatabase } from '../support/database.ts'
import { lasting } from '../support/lasting.ts'

const CATALOGUE = join(import.meta.dirname, 'catalogue.md')
const FEWEST = 250

/** A heading of the catalogue, and how what stands below it is tried. */
const SURFACES: Record<string, (input: string) => Promise<string>> = {
  'What is refused in SQL': readRefusal,
  'What is taken, and put right': readStored,
  'What watch_problem tells': readProblems,
  'What an import tells': readImport,
  'What the command line tells': readCommand,
  'What settings tell': readCommand,
}

const database = lasting(createTestDatabase)
before(async () => {
  const { sql } = database
  for (const store of STORES) {
    const locations = placesOf(store, new Set()).list
    const languages = listLanguages(store, new Set())
    await sql`insert into location (store, code, name, country_iso_code, type)
      select ${store}, location_code, location_name, country_iso_code, location_type
      from json_to_recordset(${JSON.stringify(locations)}::text::json)
        as l (location_code int, location_name text, country_iso_code text, location_type text)`
    await sql`insert into language select ${store}, language_code, language_name
      from json_to_recordset(${JSON.stringify(languages)}::text::json) as l (language_code text,
        language_name text)`
  }
  await sql`insert into category (store, name) select 'android_store',
    unnest('{game,game_puzzle,education}'::text[])`
  await sql`insert into keyword_watch (id, project, store, keyword, location_code, language_code)
    values (901, 'fitness', 'ios_store', 'yoga', 2840, 'en')`
  await sql`insert into app_watch (id, project, store, app_id)
    values (902, 'fitness', 'ios_store', '1480010017')`
})

/** What `work` makes of a transaction that is undone. */
async function tryOut<Result>(work: (sql: postgres.TransactionSql) => Promise<Result>): Promise<Result> {
  const undone = new Error('undone')
  let result: Result | undefined
  await database.sql
    .begin(async (sql) => {
      result = await work(sql)
      throw undone
    })
    .catch((error) => {
      if (error !== undone) throw error
    })
  return result as Result
}

async function readRefusal(input: string): Promise<string> {
  try {
    await tryOut((sql) => sql.unsafe(input))
    return 'It is not refused.'
  } catch (error) {
    if (!(error instanceof postgres.PostgresError)) throw error
    const { message, detail, hint } = error
    return [message, detail && `Detail: ${detail}`, hint && `Hint: ${hint}`].filter(Boolean).join('\n')
  }
}

/** The rows that the statement returns, as JSON. */
async function readStored(input: string): Promise<string> {
  const rows = await tryOut((sql) => sql.unsafe(input))
  return rows.map((row) => JSON.stringify(row)).join('\n') || 'No row.'
}

function readProblems(input: string): Promise<string> {
  return tryOut(async (sql) => {
    await sql.unsafe(input)
    const rows = await sql<{ problem: string; message: string }[]>`
      select problem, message from watch_problem order by watch_table, watch_id, problem`
    return rows.map(({ problem, message }) => `${problem}: ${message}`).join('\n') || 'Nothing.'
  })
}

/** The first line is the command; the others are the file that it names. */
async function readImport(input: string): Promise<string> {
  const [command = '', ...lines] = input.split('\n')
  const folder = await mkdtemp(join(tmpdir(), 'storerank-mistakes-'))
  try {
    const file = join(folder, 'keywords.csv')
    await writeFile(file, lines.map((line) => `${line}\n`).join(''))
    return (await readCommand(command.replace('keywords.csv', file))).replaceAll(file, 'keywords.csv')
  } finally {
    await rm(folder, { recursive: true })
  }
}

/**
 * A command as it is typed into a shell, after settings for it alone: what it prints, and its exit code. Of a
 * line of the log the note stands, as on a terminal.
 */
async function readCommand(input: string): Promise<string> {
  const words = [...input.matchAll(/(?:[^\s"']|"[^"]*"|'[^']*')+/g)].map(([word]) =>
    word.replace(/"([^"]*)"|'([^']*)'/g, (_, double, single) => double ?? single),
  )
  const at = words.indexOf('storerank')
  const settings = words.slice(0, at).map((word) => [word.split('=')[0], word.slice(word.indexOf('=') + 1)])
  const env = { DATABASE_URL: database.url, ...Object.fromEntries(settings) }
  const { code, stdout, stderr } = await callCommand(words.slice(at + 1), { env })
  const told = stderr.replace(/^\{.*\}$/gm, (line) => JSON.parse(line).note)
  return `${told}${stdout}Exit code ${code}.`.replace(/\n{2,}/g, '\n')
}

interface Entry {
  readonly surface: string
  readonly input: string
  readonly answer: string
}

/** The catalogue in its paragraphs: an entry, or a text that stays as it is. */
function parse(text: string): (Entry | string)[] {
  let surface = ''
  return text.split('\n\n').map((paragraph) => {
    surface = /^## (.*)$/m.exec(paragraph)?.[1] ?? surface
    const lines = paragraph.trimEnd().split('\n')
    const inputs = lines.filter((line) => line.startsWith('> ')).map((line) => line.slice(2))
    if (inputs.length === 0) return paragraph
    return { surface, input: inputs.join('\n'), answer: lines.slice(inputs.length).join('\n') }
  })
}

test('whoever makes a mistake reads what the catalogue says', async (t) => {
  const written = readFileSync(CATALOGUE, 'utf8')
  const paragraphs = parse(written)
  const changed: { input: string; answer: string; catalogue: string }[] = []
  const texts: string[] = []
  for (const paragraph of paragraphs) {
    if (typeof paragraph === 'string') {
      texts.push(paragraph)
      continue
    }
    const { surface, input, answer: catalogue } = paragraph
    const attempt = SURFACES[surface]
    assert.ok(attempt, `there is a way to try what stands below "${surface}"`)
    const answer = await attempt(input)
    if (answer !== catalogue) changed.push({ input, answer, catalogue })
    texts.push(`${input.replace(/^/gm, '> ')}\n${answer}`)
  }
  const entries = paragraphs.filter((paragraph) => typeof paragraph !== 'string')
  assert.ok(entries.length >= FEWEST, `the catalogue has ${entries.length} entries`)
  assert.equal(new Set(entries.map(({ input, surface }) => `${surface}\n${input}`)).size, entries.length)
  try {
    t.assert.fileSnapshot(`${texts.join('\n\n').trimEnd()}\n`, CATALOGUE, {
      serializers: [(text: string) => text],
    })
  } catch (error) {
    // Its own message has the whole text twice.
    const what = 'npm run mistakes writes the answers anew: read them before you commit them'
    assert.deepEqual(changed, [], what)
    throw error
  }
})
