import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import stringWidth from 'string-width'
import { type Document, heading, more, type Part, table, verbatim } from '../../src/cli/document.ts'
import { drawParts, type Format, print } from '../../src/cli/print.ts'
import { collectText } from '../support/command.ts'

const WIDE = Number.POSITIVE_INFINITY

describe('a table', () => {
  const draw = (rows: Record<string, unknown>[], width = WIDE, right: string[] = []) =>
    drawParts([table(rows, { right })], 'text', width)

  test('aligns numbers to the right and text to the left', () => {
    const rows = [
      { app: 'Yoga', rank: 7, paid: '$0.12' },
      { app: '日本語', rank: 120, paid: '$10.00' },
    ]
    assert.equal(
      draw(rows, WIDE, ['paid']),
      [
        '┌────────┬──────┬────────┐',
        '│ app    │ rank │   paid │',
        '├────────┼──────┼────────┤',
        '│ Yoga   │    7 │  $0.12 │',
        '│ 日本語 │  120 │ $10.00 │',
        '└────────┴──────┴────────┘',
        '',
      ].join('\n'),
    )
  })

  test('keeps the words and the course of the visibility of an app whole on 80 columns', () => {
    const row = {
      app: 'Numberwren: Maths for Children',
      store: 'Android',
      role: 'competitor',
      visible: '100 %',
      '7 days': '+12.4 %',
      measured: '99.5 %',
      course: '▁▂▃▄▅▆▇█',
    }
    const text = draw([row], 80)
    for (const word of ['Numberwren:', 'competitor', 'visible', 'measured', '+12.4 %', '▁▂▃▄▅▆▇█'])
      assert.ok(text.includes(word), word)
    for (const drawn of text.trimEnd().split('\n')) assert.ok(drawn.length <= 80, drawn)
  })

  test('says so when there is no row', () => {
    assert.equal(draw([]), '(no rows)\n')
  })

  test('shows values of the database in a way that people read', () => {
    const row = {
      at: new Date('2026-01-31T04:05:06.789Z'),
      none: null,
      list: [1, 2n],
      bytes: new Uint8Array([1, 255]),
    }
    assert.match(draw([row]), /│ 2026-01-31 04:05:06Z │ {6}│ \[1,"2"\] │ \\x01ff │/)
  })

  test('breaks the lines of the widest columns, so that a row fits the terminal as a whole', () => {
    const title = 'a long title of many words '.repeat(5).trim()
    const text = draw([{ id: 'com.example.app', title, note: '日本語'.repeat(12) }], 60)
    const lines = text.trimEnd().split('\n')
    for (const drawn of lines) assert.ok([...drawn].length <= 60, drawn)
    const column = (nth: number) => lines.slice(3, -1).map((drawn) => drawn.split('│')[nth]?.trim() ?? '')
    assert.equal(column(1).join(''), 'com.example.app')
    assert.equal(column(2).join(' ').trim(), title)
    assert.equal(column(3).join(''), '日本語'.repeat(12))
  })

  test('cuts only what is longer than whatever names a row', () => {
    const text = draw([{ body: 'x'.repeat(2000) }], 60)
    assert.equal(text.replace(/[^x…]/g, ''), `${'x'.repeat(1000)}…`)
  })

  test('cuts nothing in a pipe', () => {
    assert.ok(draw([{ title: 'x'.repeat(500) }]).includes('x'.repeat(500)))
  })

  test('is as wide as the terminal at most and has no control character, whatever the data are', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.string({ unit: 'binary' }), fc.string({ unit: 'grapheme' })), { minLength: 1 }),
        (titles) => {
          const text = draw(
            titles.map(([title, other]) => ({ title, other })),
            50,
          )
          for (const drawn of text.split('\n')) assert.ok(stringWidth(drawn) <= 50, drawn)
          // biome-ignore lint/suspicious/noControlCharactersInRegex: none may be left
          assert.doesNotMatch(text, /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/)
        },
      ),
    )
  })

  test('shows the escape sequences of a title instead of sending them', () => {
    const text = draw([{ title: '\u001b[31mred\u001b[0m\nnext\u0007' }])
    assert.match(text, /│ ␛\[31mred␛\[0m␊next␇ │/)
  })
})

describe('a text', () => {
  test('is broken between words on a terminal, indented as it begins; what is copied is not', () => {
    const parts = [heading('Try'), '  one two three four', verbatim('  one two three four')]
    assert.equal(drawParts(parts, 'text', 12), '\nTry\n  one two\n  three four\n  one two three four\n')
    assert.equal(drawParts(parts, 'text', WIDE), '\nTry\n  one two three four\n  one two three four\n')
  })

  test('may be several parts, and what is false or null is nothing', () => {
    const parts: Part[] = [['one', [null, 'two']], false, more(3, ': elsewhere'), more(0), table([{ a: 1 }])]
    assert.match(drawParts(parts, 'text', WIDE), /^one\ntwo\n… and 3 more: elsewhere\n┌/)
  })

  test('never steers the terminal', () => {
    assert.equal(drawParts(['\u001b[2J'], 'text', 80), '␛[2J\n')
  })
})

describe('JSON and CSV', () => {
  const rows = [{ title: '=1+1, "x"\n\u001b[31m\u009b', paid: 12n, at: new Date(0), none: null }]
  const show = async (document: Partial<Document>, format: Format, terminal = {}) => {
    const { output, text } = collectText(terminal)
    await print({ parts: [], ...document }, format, { stdout: output, pager: null })
    return text()
  }

  test('JSON is exact and has no raw control character', async () => {
    const text = await show({ data: rows }, 'json', { isTTY: true })
    assert.deepEqual(JSON.parse(text), [{ ...rows[0], paid: 12, at: '1970-01-01T00:00:00.000Z' }])
    assert.doesNotMatch(text, /[\u007f-\u009f]/)
  })

  test('an integer that JSON numbers cannot hold is a string', async () => {
    const text = await show({ data: { big: 2n ** 60n } }, 'json')
    assert.deepEqual(JSON.parse(text), { big: '1152921504606846976' })
  })

  test('CSV leaves the data exact in a pipe, formulas too, and is of tables alone', async () => {
    assert.equal(
      await show({ parts: ['Rows:', table(rows), [null, table([{ a: 1 }])]] }, 'csv'),
      'title,paid,at,none\n"=1+1, ""x""\n\u001b[31m\u009b",12,1970-01-01T00:00:00.000Z,\n\na\n1\n',
    )
  })

  test('CSV cannot steer a terminal', async () => {
    assert.match(await show({ parts: [table(rows)] }, 'csv', { isTTY: true }), /␛\[31m/)
  })
})
