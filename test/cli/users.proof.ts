import assert from 'node:assert/strict'
import { chownSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { makeCommandHome, runCommand } from '../support/command.ts'
import { AS_ROOT, nobody } from '../support/embedded.ts'

test('an ordinary user runs everything in a folder of its own', async (t) => {
  if (nobody === undefined) return t.skip('only root can become another user')
  if (!nobody.readsProject) return t.skip('nobody cannot read this checkout')
  const home = await makeCommandHome(t)
  const { uid, gid } = nobody
  chownSync(dirname(home), uid, gid)
  const { code, stdout, stderr } = await runCommand(t, ['run'], { home, uid, gid })
  assert.equal(code, 0, stderr)
  assert.match(stdout, /\nOwn apps\n/)
  assert.equal(statSync(join(home, 'postgres', 'data')).uid, uid)
})

test('root runs everything in a folder that only root can enter', async (t) => {
  if (!AS_ROOT) return t.skip('we are not root')
  const home = await makeCommandHome(t, 0o700)
  const { code, stdout, stderr } = await runCommand(t, ['run'], { home })
  assert.equal(code, 0, stderr)
  assert.match(stdout, /\nOwn apps\n/)
  assert.equal(statSync(join(home, 'pgpass')).mode & 0o777, 0o600)
})
