import assert from 'node:assert/strict'
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { parseEnv } from 'node:util'
import type { CommandContext } from '../../src/cli/command.ts'
import { run, TEMPLATE } from '../../src/cli/init.ts'
import { readConfig, SETTING_NAMES } from '../../src/config.ts'

const folder = mkdtempSync(join(tmpdir(), 'init-'))
after(() => rmSync(folder, { recursive: true, force: true }))
const file = join(folder, '.env')
const context = { stdout: { write: () => true } } as unknown as CommandContext

test('init writes every setting, commented out, for its owner alone, and never over a file', async () => {
  await run({ file }, context)
  assert.equal(statSync(file).mode & 0o777, 0o600)
  assert.deepEqual(parseEnv(readFileSync(file, 'utf8')), {})
  const named = [...TEMPLATE.matchAll(/^#([A-Z_]+)=/gm)].map(([, name = '']) => name)
  assert.deepEqual([...new Set(named)].sort(), [...SETTING_NAMES].sort())
  await assert.rejects(run({ file }, context), /is there already, and nothing was changed/)
})

test('every example of init is one that the settings take, as far as they fit together', () => {
  const lines = TEMPLATE.split('\n').filter((line) => /^#[A-Z_]+=./.test(line))
  const examples = lines.filter((line) => !/^#(APP_DATA_PASSWORD_FILE|POSTBACK_URL)=/.test(line))
  writeFileSync(file, `${examples.map((line) => line.slice(1)).join('\n')}\nAPP_DATA_PASSWORD=x\n`)
  assert.equal(readConfig({}, file).service?.login, 'you@example.com')
})

test('a file gives what the environment does not, and is told of when others can read its password', () => {
  writeFileSync(file, 'MAX_USD_PER_DAY=7\nLOG_LEVEL=warn\nDATABASE_URL=postgres://u:p@db/ranks\n')
  chmodSync(file, 0o600)
  const config = readConfig({ MAX_USD_PER_DAY: '9', LOG_LEVEL: '' }, file)
  assert.deepEqual([config.maxUsdPerDayMicros, config.logLevel, config.notes], [9_000_000, 'warn', []])
  chmodSync(file, 0o644)
  assert.match(readConfig({}, file).notes.join(), /can be read by every user of this machine: chmod 600/)
  writeFileSync(file, 'LOG_LEVEL=warn\n')
  assert.deepEqual(readConfig({}, file).notes, [])
})

test('a file that was named and is not there is an error, and what is wrong in one is told by its setting', () => {
  assert.throws(() => readConfig({}, join(folder, 'none')), /none cannot be read: ENOENT/)
  writeFileSync(file, 'MAX_USD_PER_DAI=7\n')
  assert.throws(() => readConfig({}, file), /MAX_USD_PER_DAI is not a setting.*MAX_USD_PER_DAY/)
})
