import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { readConfig } from '../src/config.ts'
import { parseSettings } from '../src/env-file.ts'
import { ConfigurationError } from '../src/errors.ts'
import { callCommand } from './support/command.ts'

const folder = mkdtempSync(join(tmpdir(), 'env-file-'))
after(() => rmSync(folder, { recursive: true, force: true }))
const file = join(folder, '.env')

const PROJECT = join(import.meta.dirname, '..')

function parse(text: string): Record<string, string> {
  return Object.fromEntries(parseSettings(text, 'x.env'))
}

function refusal(text: string): string {
  try {
    parse(text)
  } catch (error) {
    assert.ok(error instanceof ConfigurationError)
    return error.message
  }
  throw new assert.AssertionError({ message: `it was understood: ${text}` })
}

test('a file gives what the environment does not, and is told of when others can read its password', () => {
  writeFileSync(file, 'MAX_USD_PER_DAY=7\nLOG_LEVEL=warn\nDATABASE_URL=postgres://u:p@db/ranks\n')
  chmodSync(file, 0o600)
  const config = readConfig({ MAX_USD_PER_DAY: '9', LOG_LEVEL: '' }, file)
  assert.deepEqual([config.budget.maxDayMicros, config.logLevel, config.notes], [9_000_000, 'warn', []])
  chmodSync(file, 0o644)
  assert.match(readConfig({}, file).notes.join(), /can be read by every user of this machine: chmod 600/)
  writeFileSync(file, 'LOG_LEVEL=warn\n')
  assert.deepEqual(readConfig({}, file).notes, [])
})

test('a file that is not there is an error, and what is wrong in one is told by its setting', () => {
  assert.throws(() => readConfig({}, join(folder, 'none')), /none cannot be read: .* \(ENOENT\)/)
  writeFileSync(file, 'MAX_USD_PER_DAI=7\n')
  assert.throws(() => readConfig({}, file), /MAX_USD_PER_DAI is not a setting.*MAX_USD_PER_DAY/)
})

describe('a settings file', () => {
  test('is understood as people write it', () => {
    const text = [
      '\uFEFFMAX_USD_PER_DAY = 0.5',
      '',
      '# a comment',
      "  export LOG_LEVEL='warn' # as the others",
      'REPORT_TITLE="two\nlines\\nand a third" ',
      'APP_DATA_LOGIN=me@example.com # mine',
      'APP_DATA_PASSWORD=`it"s $mine`',
      'SMTP_FROM=',
      'ALERT_TOKEN="a#b"',
    ].join('\r\n')
    writeFileSync(file, text)
    assert.equal(readConfig({ LOG_LEVEL: 'error' }, file).budget.maxDayMicros, 500_000)
    assert.deepEqual(parse(text.slice(1)), {
      MAX_USD_PER_DAY: '0.5',
      LOG_LEVEL: 'warn',
      REPORT_TITLE: 'two\nlines\nand a third',
      APP_DATA_LOGIN: 'me@example.com',
      APP_DATA_PASSWORD: 'it"s $mine',
      SMTP_FROM: '',
      ALERT_TOKEN: 'a#b',
    })
    assert.deepEqual(parse('A=1\rB=2\u2028C=3'), { A: '1', B: '2', C: '3' })
  })

  const lines = {
    'a line of YAML': 'MAX_USD_PER_DAY: 0.5',
    'a name alone': 'MAX_USD_PER_DAY',
    'a value without its =': 'MAX_USD_PER_DAY 0.5',
    'a command of another shell': 'set MAX_USD_PER_DAY=0.5',
    'a variable of PowerShell': '$env:MAX_USD_PER_DAY=0.5',
    'a section': '[storerank]',
    'a comment of another kind': '; MAX_USD_PER_DAY=0.5',
    'a name in quotes': '"MAX_USD_PER_DAY"=0.5',
    'a list': '- MAX_USD_PER_DAY=0.5',
    'a letter that cannot be seen': '\u200BMAX_USD_PER_DAY=0.5',
    'an object': '{"MAX_USD_PER_DAY": 0.5}',
  }
  for (const [name, line] of Object.entries(lines)) {
    test(`is refused for ${name}, by the number of its line`, () => {
      assert.equal(
        refusal(`LOG_LEVEL=warn\n${line}`),
        'x.env, line 2: it is neither NAME=value, such as MAX_USD_PER_DAY=0.5, nor a comment that ' +
          'begins with #.',
      )
    })
  }

  test('is refused for a value whose end is in doubt, and shows none of it', () => {
    assert.equal(
      refusal('\nAPP_DATA_PASSWORD=hunter#2'),
      'x.env, line 2: the value of APP_DATA_PASSWORD has a # in it: put it in quotes, or a space ' +
        'before its comment.',
    )
    assert.match(refusal('A="x\nB=2'), /line 1: the value of A begins with " and does not end with one\.$/)
    assert.match(
      refusal('A="x" y\nB=2'),
      /line 1: the value of A ends at the second ", and more stands behind/,
    )
    assert.match(refusal("A='it's'"), /line 1: the value of A ends at the second ', and more stands behind/)
  })

  test('is refused for a name that it sets twice, and tells all its lines at once', () => {
    assert.equal(
      refusal('MAX_USD_PER_DAY=0.5\nX\nexport MAX_USD_PER_DAY=5'),
      'x.env, line 2: it is neither NAME=value, such as MAX_USD_PER_DAY=0.5, nor a comment that begins ' +
        'with #.\n' +
        'x.env, line 3: MAX_USD_PER_DAY is set in line 1 already: keep one of the two.',
    )
  })

  test('is refused when it is no text in UTF-8, or holds nothing', () => {
    for (const bytes of [Buffer.from('A=1\n', 'utf16le'), Buffer.from('A=é\n', 'latin1')]) {
      writeFileSync(file, bytes)
      assert.throws(() => readConfig({}, file), /\.env is no text in UTF-8: save it as UTF-8/)
    }
    for (const text of ['', '\uFEFF', ' \n\n']) {
      writeFileSync(file, text)
      assert.throws(() => readConfig({}, file), /\.env is empty: it sets nothing\./)
    }
    writeFileSync(file, '# nothing yet\n')
    assert.match(
      readConfig({}, file).notes.join(),
      /\.env sets nothing: each of its lines is empty or a comment/,
    )
  })

  test('is refused for near misses of any name, and says which names mean nothing here', () => {
    writeFileSync(file, 'database_url=postgres://h/d\n')
    assert.throws(() => readConfig({}, file), /database_url is not a setting.*Did you mean DATABASE_URL\?/)
    writeFileSync(file, 'DAILY_BUDGET=1\nBUDGET=2\nPOSTGRES_PASSWORD=x\n')
    const { notes } = readConfig({}, file)
    assert.deepEqual(notes, [
      `DAILY_BUDGET, BUDGET in ${file}: no setting of storerank, and without effect on it.`,
    ])
  })

  test('names no program to run', () => {
    writeFileSync(file, 'PAGER=touch owned\n')
    const { pager, notes } = readConfig({}, file)
    assert.equal(pager, 'less')
    assert.match(notes.join(), /^PAGER in .*\.env is not run: it counts in the environment alone\.$/)
    assert.equal(readConfig({ PAGER: 'more' }, file).pager, 'more')
  })

  test('may have what compose.yaml reads from it', () => {
    const compose = readFileSync(join(PROJECT, 'compose.yaml'), 'utf8')
    const names = new Set([...compose.matchAll(/\$\{(\w+)/g)].map(([, name]) => name))
    writeFileSync(file, [...names].map((name) => `${name}=x\n`).join(''))
    assert.deepEqual(readConfig({}, file).notes, [])
  })
})

describe('--settings', () => {
  test('reads a pipe, which --env-file cannot: Node empties it first', async () => {
    const bash = (option: string) => {
      const program = join(PROJECT, 'src/cli/storerank.js')
      const { stderr, status } = spawnSync(
        'bash',
        ['-c', `exec "$0" "$1" plan ${option} <(echo MAX_USD_PER_DAY=nothing)`, process.execPath, program],
        { cwd: '/', encoding: 'utf8' },
      )
      return [status, stderr]
    }
    assert.deepEqual(bash('--settings'), [
      2,
      'MAX_USD_PER_DAY must be an amount in dollars such as 5 or 0.25, with at most six decimals; it ' +
        'is "nothing".\n',
    ])
    const refused =
      '--env-file is an option of Node itself, which reads the file first: name the settings with ' +
      '--settings FILE.\n'
    assert.deepEqual(bash('--env-file'), [2, refused])
  })

  test('is taken once, and not as one of two files', async () => {
    const { code, stderr } = await callCommand(['plan', '--settings', 'a', '--settings', 'b'])
    assert.deepEqual([code, stderr], [2, '--settings is given twice, with a and b: name one file.\n'])
  })
})

test('a password in a file may follow a byte order mark, and has one line', () => {
  const env = { APP_DATA_URL: 'https://api.example.com', APP_DATA_LOGIN: 'me', APP_DATA_PASSWORD_FILE: file }
  writeFileSync(file, '\uFEFFhunter2\r\n')
  assert.equal(readConfig(env).service?.password.reveal(), 'hunter2')
  writeFileSync(file, 'hunter2\n# mine\n')
  assert.throws(() => readConfig(env), /must hold the password in one line and nothing else/)
})
