import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { printCsv, printJson, printTable } from '../../src/cli/print.ts'
import { collectText } from '../support/command.ts'

describe('printTable', () => {
  const print = (
    rows: Record<string, unknown>[],
    columns: { key: string; align?: 'right' }[],
    terminal = {},
  ) => {
    const { output, text } = collectText(terminal)
    printTable(rows, columns, { stdout: output })
    return text()
  }

  test('aligns numbers to the right and text to the left', () => {
    const text = print(
      [
        { app: 'Yoga', rank: 7, paid: '$0.12' },
        { app: '日本語', rank: 120, paid: '$10.00' },
      ],
      [{ key: 'app' }, { key: 'rank' }, { key: 'paid', align: 'right' }],
    )
    assert.equal(
      text,
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
    const text = print(
      [row],
      Object.keys(row).map((key) => ({ key })),
      { isTTY: true, columns: 80 },
    )
    for (const word of ['Numberwren:', 'competitor', 'visible', 'measured', '+12.4 %', '▁▂▃▄▅▆▇█'])
      assert.ok(text.includes(word), word)
    for (const line of text.trimEnd().split('\n')) assert.ok(line.length <= 80, line)
  })

  test('says so when there is no row', () => {
    assert.equal(print([], [{ key: 'a' }]), '(no rows)\n')
  })

  test('shows values of the database in a way that people read', () => {
    const row = {
      at: new Date('2026-01-31T04:05:06.789Z'),
      none: null,
      list: [1, 2n],
      bytes: new Uint8Array([1, 255]),
    }
    const columns = Object.keys(row).map((key) => ({ key }))
    const text = print([row], columns)
    assert.match(text, /│ 2026-01-31 04:05:06Z │ {6}│ \[1,"2"\] │ \\x01ff │/)
  })

  test('breaks the lines of the widest columns, so that a row fits the terminal and nothing of it is lost', () => {
    const title = 'a long title of many words '.repeat(5).trim()
    const text = print(
      [{ id: 'com.example.app', title, note: '日本語'.repeat(12) }],
      [{ key: 'id' }, { key: 'title' }, { key: 'note' }],
      { isTTY: true, columns: 60 },
    )
    const lines = text.trimEnd().split('\n')
    for (const line of lines) assert.ok([...line].length <= 60, line)
    const column = (nth: number) => lines.slice(3, -1).map((line) => line.split('│')[nth]?.trim() ?? '')
    assert.equal(column(1).join(''), 'com.example.app')
    assert.equal(column(2).join(' ').trim(), title)
    assert.equal(column(3).join(''), '日本語'.repeat(12))
  })

  test('cuts only what is longer than whatever names a row', () => {
    const text = print([{ body: 'x'.repeat(2000) }], [{ key: 'body' }], { isTTY: true, columns: 60 })
    assert.equal(text.replace(/[^x…]/g, ''), `${'x'.repeat(1000)}…`)
  })

  test('cuts nothing in a pipe', () => {
    assert.ok(print([{ title: 'x'.repeat(500) }], [{ key: 'title' }]).includes('x'.repeat(500)))
  })

  test('is as wide as the terminal at most and has no control character, whatever the data are', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.string({ unit: 'binary' }), fc.string({ unit: 'grapheme' })), { minLength: 1 }),
        (titles) => {
          const rows = titles.map(([title, other]) => ({ title, other }))
          const text = print(rows, [{ key: 'title' }, { key: 'other' }], { isTTY: true, columns: 50 })
          for (const line of text.split('\n'))
            assert.ok([...line].length <= 50 || /\p{M}|\u200d/u.test(line), line)
          // biome-ignore lint/suspicious/noControlCharactersInRegex: none may be left
          assert.doesNotMatch(text, /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/)
        },
      ),
    )
  })

  test('shows the escape sequences of a title instead of sending them', () => {
    const text = print([{ title: '\u001b[31mred\u001b[0m\nnext\u0007' }], [{ key: 'title' }])
    assert.match(text, /│ ␛\[31mred␛\[0m␊next␇ │/)
  })
})

describe('printJson and printCsv', () => {
  const rows = [{ title: '=1+1, "x"\n\u001b[31m\u009b', paid: 12n, at: new Date(0), none: null }]
  const columns = ['title', 'paid', 'at', 'none'].map((key) => ({ key }))

  test('JSON is exact and has no raw control character', () => {
    const { output, text } = collectText({ isTTY: true })
    printJson(rows, { stdout: output })
    assert.deepEqual(JSON.parse(text()), [{ ...rows[0], paid: 12, at: '1970-01-01T00:00:00.000Z' }])
    assert.doesNotMatch(text(), /[\u007f-\u009f]/)
  })

  test('an integer that JSON numbers cannot hold is a string', () => {
    const { output, text } = collectText()
    printJson({ big: 2n ** 60n }, { stdout: output })
    assert.deepEqual(JSON.parse(text()), { big: '1152921504606846976' })
  })

  test('CSV leaves the data exact in a pipe, formulas too', () => {
    const { output, text } = collectText()
    printCsv(rows, columns, { stdout: output })
    assert.equal(text(), 'title,paid,at,none\n"=1+1, ""x""\n\u001b[31m\u009b",12,1970-01-01T00:00:00.000Z,\n')
  })

  test('CSV cannot steer a terminal', () => {
    const { output, text } = collectText({ isTTY: true })
    printCsv(rows, columns, { stdout: output })
    assert.match(text(), /␛\[31m/)
  })
})
