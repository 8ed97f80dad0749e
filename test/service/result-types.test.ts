import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

const SOURCES = join(import.meta.dirname, '../../src/service')

/** What a caller reads in the editor: results, and the records in them. */
const RESULT_TYPES = [
  ...['AppInfo', 'AppInfoItem', 'AppInfoResult', 'InfoResult', 'LinkedApp', 'Rating', 'Price'],
  ...[
    'SearchItem',
    'SearchResult',
    'RankedItem',
    'RankedPage',
    'Review',
    'ReviewResponse',
    'AppReviewsResult',
  ],
  ...[
    'HtmlPage',
    'HtmlResult',
    'TaskEcho',
    'TaskAnswer',
    'ReadyRow',
    'Location',
    'Language',
    'ListingCategory',
  ],
  ...['UserData', 'UsageTable', 'UsagePeriod', 'PriceEntry', 'ApiStatus', 'ServiceErrorCode'],
  ...['TaskIdRow', 'FailedTask', 'ResendAnswer', 'EnvelopeHead', 'AnswerHead'],
]

const sources = globSync('*.ts', { cwd: SOURCES }).map((file) => readFileSync(join(SOURCES, file), 'utf8'))

/** The doc comment of an interface and its fields, each with the line in front of it. */
const readType = (name: string) => {
  const found = sources
    .map((source) =>
      new RegExp(
        `(/\\*\\*(?:[^*]|\\*(?!/))*\\*/)\\n(?:export )?interface ${name}\\b[^{]*\\{\\n(.*?)\\n\\}\\n`,
        's',
      ).exec(source),
    )
    .find((match) => match !== null)
  const lines = found?.[2]?.split('\n') ?? []
  const fields = lines.flatMap((line, index) =>
    /^\s+readonly /.test(line) ? [{ line: line.trim(), doc: readDoc(lines.slice(0, index)) }] : [],
  )
  return { doc: found?.[1] ?? '', fields }
}

/** The comment that the lines end with. */
function readDoc(lines: readonly string[]): string {
  const start = lines.findLastIndex((line) => line.trim().startsWith('/**'))
  return lines.slice(start).join(' ').trim()
}

for (const name of RESULT_TYPES) {
  test(`every field of ${name} says what it is, and when it is null`, () => {
    const type = readType(name)
    assert.ok(type.fields.length > 0, `there is no interface ${name} with a comment`)
    for (const { line, doc } of type.fields) {
      assert.ok(doc.endsWith('*/'), `${name}: ${line} has no comment`)
      const mayBeNull = / \| null$/.test(line)
      assert.ok(
        !mayBeNull || /null/i.test(`${doc} ${type.doc}`),
        `${name}: ${line} does not say when it is null`,
      )
    }
  })
}
