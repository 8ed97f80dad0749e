/**
 * The one form in which keywords and names are stored (`clean_text`), of invented texts, and of real names
 * where APP_NAMES names a text file of them, one to a line.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import fc from 'fast-check'
import { createTestDatabase } from '../support/database.ts'
import { lasting } from '../support/lasting.ts'

const { APP_NAMES: file } = process.env
const noNames = file === undefined && 'APP_NAMES names no file of names'
const BATCH = 5_000

const SPACES = [' ', '  ', '\t', '\n', '\u00a0', '\u1680', '\u2003', '\u202f', '\u205f', '\u3000']
/** Soft hyphen, marks of direction, fillers, joiners. */
const INVISIBLE = [
  '\u00ad',
  '\u034f',
  '\u061c',
  '\u180e',
  '\u200b',
  '\u200c',
  '\u200d',
  '\u200e',
  '\u2060',
  '\u206a',
  '\u3164',
  '\ufeff',
  '\uffa0',
  '\u115f',
  '\u2065',
  '\ufffc',
  '\u{e0001}',
  '\u{1d173}',
]
/** Selectors and tags, which stay behind what they change. */
const CHANGING = ['\ufe0f', '\u{e0100}', '\u{e0067}', '\u{e007f}', '🏴']
/** They stay inside of words that need them. */
const JOINERS = /[\u200c\u200d]/
/** Letters that are composed, that join, that are encoded in two ways; an emoji of several. */
const LETTERS = [
  'e\u0301',
  'o\u0308\u0323',
  '\u212b',
  '\u1100\u1161\u11a8',
  'क्ष',
  'می',
  '瞑',
  '👩',
  '❤️',
  'ﬁ',
  '%',
  '+',
]
const texts = fc.array(
  fc
    .array(
      fc.oneof(
        fc.constantFrom(...SPACES),
        fc.constantFrom(...INVISIBLE, ...CHANGING),
        fc.constantFrom(...LETTERS),
        fc.string({ unit: 'grapheme', maxLength: 3 }),
        fc.string({ unit: 'binary', maxLength: 2 }).map((text) => text.replaceAll('\0', '')),
      ),
      { maxLength: 12 },
    )
    .map((parts) => parts.join('')),
  { minLength: 40, maxLength: 40 },
)

const database = lasting(createTestDatabase)

interface Cleaned {
  readonly given: string
  readonly clean: string
  readonly again: string
  readonly isClean: boolean
  readonly wasClean: boolean
  readonly isRefused: boolean
}

async function assertClean(given: readonly string[]): Promise<void> {
  const rows = await database.sql<Cleaned[]>`
    select g.text as given, c.text as clean, clean_text(c.text) as again, is_clean(c.text) as "isClean",
      is_clean(g.text) as "wasClean", has_control_characters(c.text) as "isRefused"
    from unnest(${[...given]}::text[]) g (text) cross
      join lateral (select clean_text(g.text) as text offset 0) c`
  assert.equal(rows.length, given.length)
  for (const row of rows) {
    const { clean } = row
    const shown = JSON.stringify(row.given)
    assert.equal(row.again, clean, `${shown} is in its form after one time`)
    assert.equal(row.isClean, true, shown)
    assert.equal(row.wasClean, row.given === clean, shown)
    assert.equal(clean.normalize('NFC'), clean, `${shown} is composed`)
    const left = INVISIBLE.filter((each) => !JOINERS.test(each) && clean.includes(each))
    assert.deepEqual(left, [], shown)
    assert.doesNotMatch(
      clean,
      /^[\u200c\u200d]|[\u200c\u200d]$|[\u200c\u200d]{2}|[\u200c\u200d] | [\u200c\u200d]/,
    )
    // Line breaks and their like are no part of a text: within one they are refused.
    if (!row.isRefused) assert.doesNotMatch(clean, /^\s|\s$|\s\s|[^\S ]/u, shown)
  }
}

test(
  'a text is stored composed, without invisible characters and outer spaces, and in one form however ' +
    'often',
  async () => {
    await fc.assert(fc.asyncProperty(texts, assertClean), { numRuns: 60 })
  },
)

test('so are real names', { skip: noNames }, async () => {
  const names = readFileSync(file ?? '', 'utf8').split(/\r?\n/)
  for (let from = 0; from < names.length; from += BATCH) await assertClean(names.slice(from, from + BATCH))
  // The same with what people paste along with them.
  await assertClean(
    names.slice(0, BATCH).map((name, n) => `\u200b ${name.normalize('NFD')}${SPACES[n % SPACES.length]}`),
  )
})

test('spellings that look alike are one keyword', async () => {
  const alike = [
    'yoga nidra',
    ' yoga nidra',
    'yoga  nidra',
    'yoga\u00a0nidra\u200b',
    'yo\u00adga nidra',
    'yoga \u200d nidra',
    'yoga\u3164 nidra',
    '\ufe0fyoga\ufe0f nidra',
    'yoga\u115f \u{e0067}\u{e007f}nidra\ufffc',
  ]
  const rows = await database.sql<
    { clean: string }[]
  >`select distinct clean_text(t) as clean from unnest(${alike}::text[]) t`
  assert.deepEqual(
    rows.map(({ clean }) => clean),
    ['yoga nidra'],
  )
})

test('what Unicode lets be ignored is in no text, but where it changes what is before it', async () => {
  const ignorable = Array.from({ length: 0x110000 }, (_, code) => code)
    .filter((code) => code < 0xd800 || code > 0xdfff)
    .map((code) => String.fromCodePoint(code))
    .filter((letter) => /\p{Default_Ignorable_Code_Point}/u.test(letter))
  assert.ok(ignorable.length > 4000)
  const rows = await database.sql<{ letter: string }[]>`
    select letter from unnest(${ignorable}::text[]) letter
    where clean_text('ya' || letter || 'oga') <> 'yaoga' and not has_control_characters('a' || letter)`
  // Selectors of Mongolian, which stand behind its letters alone.
  assert.deepEqual(
    rows.map(({ letter }) => letter),
    ['\u180b', '\u180c', '\u180d', '\u180f'],
  )
  const kept = ['❤️', '🏴\u{e0067}\u{e0062}\u{e007f}', '1\ufe0f\u20e3', '葛\u{e0100}', '👩‍👩']
  const clean = await database.sql<{ text: string }[]>`
    select clean_text(t) as text from unnest(${kept}::text[]) t`
  assert.deepEqual(
    clean.map(({ text }) => text),
    kept,
  )
})
