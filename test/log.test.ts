import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createProgress } from '../src/cli/progress.ts'
import { createLogger, redactSecrets, toPrintable } from '../src/log.ts'

function record(pretty: boolean, { isColoured = false, columns = 80 } = {}) {
  const lines: string[] = []
  const stderr = {
    write: (line: string) => lines.push(line) > 0,
    hasColors: () => isColoured,
    isTTY: pretty,
    columns,
    cursorTo: () => true,
    clearLine: () => true,
    moveCursor: () => true,
  } as unknown as NodeJS.WriteStream
  return { log: createLogger({ level: 'debug', pretty, stderr }), lines, stderr }
}

describe('in a pipe', () => {
  test('every line is one JSON object with level, time, message and fields', () => {
    const { log, lines } = record(false)
    log.info({ posted: 3 }, 'posted')
    log.error({ err: new Error('two\nlines') }, 'failed')
    const records = lines.map((line) => JSON.parse(line))
    assert.ok(lines.every((line) => line.indexOf('\n') === line.length - 1))
    assert.equal(records[0].level, 'info')
    assert.equal(records[0].msg, 'posted')
    assert.equal(records[0].posted, 3)
    assert.match(records[0].time, /^\d{4}-\d\d-\d\dT.*Z$/)
    assert.match(records[1].err.stack, /two\nlines/)
  })

  test('a level below the wanted one is not written', () => {
    const { log, lines } = record(false)
    log.trace('quiet')
    assert.deepEqual(lines, [])
  })
})

describe('secrets', () => {
  const secret = 'hunter2'
  const basic = Buffer.from(`me:${secret}`).toString('base64')
  const records: [place: string, fields: object][] = [
    ['a field', { password: secret }],
    ['a field with quotes in it', { password: `a"b\\${secret}` }],
    ['a field whose name ends in password', { dbPassword: secret }],
    ['a deep field', { a: { b: { c: { d: { PASSWORD: secret } } } } }],
    ['a header', { headers: { Authorization: `Basic ${basic}` } }],
    ['a list of raw headers', { headers: ['authorization', `Basic ${basic}`] }],
    ['a message with a header in it', { reason: `sent authorization: Basic ${basic} to them` }],
    ['the address of a database', { url: `postgres://me:${secret}@db:5432/ranks` }],
    [
      'the address of a webhook',
      { problem: `took ${'x'.repeat(10)} https://r.example.com/h/${secret}${'0'.repeat(24)}?id=$id` },
    ],
    ['a password with signs in it', { url: `postgresql://me:p@${secret}@db/ranks` }],
    ['the message of an error', { err: new Error(`cannot reach https://me:${secret}@api.example.com/v3`) }],
  ]
  for (const pretty of [false, true]) {
    for (const [place, fields] of records) {
      test(`are not written ${pretty ? 'on a terminal' : 'in a pipe'} from ${place}`, () => {
        const { log, lines } = record(pretty)
        log.warn(fields, 'careful')
        log.child(fields).warn('careful')
        const text = lines.join('')
        assert.ok(!text.includes(secret) && !text.includes(basic), text)
        assert.match(text, /\[secret\]/)
        if (!pretty) for (const line of lines) JSON.parse(line)
      })
    }
  }

  test('are not seen in ordinary addresses and words', () => {
    const { log, lines } = record(false)
    const fields = {
      url: 'https://example.com/@me',
      mail: 'me@example.com',
      secret: { a: 1 },
      password: null,
    }
    log.info({ ...fields, title: 'Basic yoga for all' }, 'fine')
    const { url, mail, secret: nested, password, title } = JSON.parse(lines[0]!)
    assert.deepEqual({ url, mail, secret: nested, password }, fields)
    assert.equal(title, 'Basic yoga for all')
  })
})

describe('a megabyte of text that almost holds a secret', () => {
  // Read from each beginning to its end, which is quadratic, one of these takes an hour: then the run's own
  // limit ends it.
  const pieces = [
    'a.',
    'a:',
    'a://',
    '://a:',
    ':',
    '@',
    '"aaa',
    '"password":"',
    '"password":"\\\\',
    '"Basic ',
    '/a-',
    'authorization: Basic ',
  ]
  for (const piece of pieces) {
    test(`is read in linear time: ${piece}`, () => {
      const text = piece.repeat(2 ** 20 / piece.length)
      assert.equal(redactSecrets(`${text} a://me:hunter2@host`).includes('hunter2'), false)
    })
  }
})

describe('on a terminal', () => {
  test('a line is readable and has its fields behind the message', () => {
    const { log, lines } = record(true)
    log.info({ posted: 3 }, 'posted')
    assert.match(lines.join(''), /^\[\d\d:\d\d:\d\d\] INFO: posted \{"posted":3\}\n$/)
  })

  test('colours are used only where the terminal has them', () => {
    const plain = record(true)
    plain.log.info('posted')
    const coloured = record(true, { isColoured: true })
    coloured.log.info('posted')
    assert.ok(!plain.lines.join('').includes('\u001b'))
    assert.ok(coloured.lines.join('').includes('\u001b'))
  })

  test('a title from outside cannot steer the terminal', () => {
    const { log, lines } = record(true)
    const title = 'red \u001b[31m\u0007 \u009b2J end'
    log.warn({ title, err: new Error(title) }, 'odd title')
    // biome-ignore lint/suspicious/noControlCharactersInRegex: none may be left
    assert.doesNotMatch(lines.join(''), /[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/)
    assert.match(lines.join(''), /red ␛\[31m␇/)
  })
})

test('toPrintable keeps what people write and shows or drops what steers', () => {
  assert.equal(toPrintable('naïve 日本語 👩‍👩‍👧 \n\t end'), 'naïve 日本語 👩‍👩‍👧 \n\t end')
  assert.equal(toPrintable('a\u001b]0;title\u0007\r\u0000b\u007f'), 'a␛]0;title␇␍␀b\ufffd')
  assert.equal(toPrintable('\u202egpj.exe\u2066'), 'gpj.exe')
})

describe('progress', () => {
  function makeProgress(isTerminal: boolean, columns = 80) {
    const { log, lines, stderr } = record(isTerminal, { columns })
    const clock = { ms: 0 }
    const progress = createProgress({ stderr, isTerminal, log }, () => clock.ms)
    return { progress, clock, text: () => lines.join('') }
  }

  test('in a pipe is JSON lines at a bounded rate', () => {
    const { progress, clock, text } = makeProgress(false)
    progress.phase('collect')
    for (let collected = 0; collected <= 1000; collected++) {
      progress.update(`collected ${collected}`, { collected })
      clock.ms += 25
    }
    progress.done('collected 1000')
    progress.stop()
    const lines = text()
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
    assert.deepEqual(
      lines.map(({ msg, phase, collected }) => [msg, phase, collected]),
      [
        ['phase started', 'collect', undefined],
        ['progress', 'collect', 0],
        ['progress', 'collect', 400],
        ['progress', 'collect', 800],
        ['phase done', 'collect', undefined],
      ],
    )
  })

  test('in a pipe logs a failure as an error', () => {
    const { progress, text } = makeProgress(false)
    progress.phase('post')
    progress.fail('the service refuses the account')
    const { level, result } = JSON.parse(text().trimEnd().split('\n')[1]!)
    assert.deepEqual([level, result], ['error', 'the service refuses the account'])
  })

  test('on a terminal keeps what ended, readable', () => {
    const { progress, text } = makeProgress(true)
    progress.phase('collect')
    progress.update('80 of \u001b[2J 300', {})
    progress.done('collected 300')
    progress.stop()
    assert.match(text(), /collected 300\n/)
    assert.ok(!text().includes('\u001b[2J'))
  })

  test('on a terminal of unknown width is log lines, since a line that may wrap cannot be redrawn', () => {
    const { progress, text } = makeProgress(true, 0)
    progress.phase('collect')
    progress.update('80 of 300', { collected: 80 })
    progress.done('collected 300')
    assert.match(text(), /INFO: progress \{"phase":"collect","collected":80\}\n/)
    assert.ok(!text().includes('\u001b'))
  })
})
