import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import type { CommandContext } from '../../src/cli/command.ts'
import { drawTemplate, init } from '../../src/cli/commands/init.ts'
import { readConfig } from '../../src/config.ts'
import { parseSettings, readEnvFile } from '../../src/env-file.ts'
import { SETTING_NAMES } from '../../src/settings.ts'

const folder = mkdtempSync(join(tmpdir(), 'init-'))
after(() => rmSync(folder, { recursive: true, force: true }))
const file = join(folder, '.env')
const context = { stdout: { write: () => true } } as unknown as CommandContext

test('init writes every setting, commented out, for its owner alone, and never over a file', async () => {
  await init.run({ file }, context)
  assert.equal(statSync(file).mode & 0o777, 0o600)
  assert.deepEqual([...parseSettings(readFileSync(file, 'utf8'), file)], [])
  assert.match(readConfig({}, file).notes.join(), /sets nothing: each of its lines is empty or a comment/)
  const named = [...drawTemplate().matchAll(/^#([A-Z_]+)=/gm)].map(([, name = '']) => name)
  assert.deepEqual([...new Set(named)].sort(), [...SETTING_NAMES].sort())
  await assert.rejects(init.run({ file }, context), /is there already \(EEXIST\)\. Nothing was changed/)
})

test('every example of init is one that the settings take, as far as they fit together', () => {
  const lines = drawTemplate()
    .split('\n')
    .filter((line) => /^#[A-Z_]+='.+'$/.test(line))
  const examples = lines.filter((line) => !/^#(APP_DATA_PASSWORD_FILE|POSTBACK_URL)=/.test(line))
  writeFileSync(file, `${examples.map((line) => line.slice(1)).join('\n')}\nAPP_DATA_PASSWORD=x\n`)
  assert.equal(readConfig({}, file).service?.login, 'you@example.com')
})

test('a value in single quotes means the same to each reader of the file', () => {
  const value = 'postgres://me:a%20b@db/r?sslmode=require&sslrootcert=/a b/$c"d`e#f\\g;h'
  const line = `DATABASE_URL='${value}'`
  assert.equal(parseSettings(line, file).get('DATABASE_URL'), value)
  const shell = execFileSync('sh', ['-c', `${line}; printf %s "$DATABASE_URL"`])
  assert.equal(shell.toString(), value)
  // docker run --env-file leaves the quotes.
  writeFileSync(file, 'LOG_LEVEL=info\n')
  assert.equal(readEnvFile(file, { DATABASE_URL: `'${value}'` }).env.DATABASE_URL, value)
})
