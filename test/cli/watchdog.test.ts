/** What `start` says to systemd, and how its lines reach the journal. */
import assert from 'node:assert/strict'
import { fstatSync, readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { type networkInterfaces, tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { pino } from 'pino'
import { isJournal, startWatchdog, withPriorities } from '../../src/cli/systemd.ts'
import { readSupervisor } from '../../src/config.ts'
import { onThisMachine } from '../../src/listen-address.ts'
import { collectText } from '../support/command.ts'
import { until } from '../support/embedded.ts'

const ME = String(process.pid)

test('the watchdog of systemd is told while the process is well, and not of another process', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'storerank-watchdog-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const said = join(folder, 'said')
  await writeFile(join(folder, 'systemd-notify'), `#!/bin/sh\necho "$@" >> ${said}\n`, { mode: 0o755 })
  await writeFile(said, '')
  const { PATH } = process.env
  process.env.PATH = `${folder}:${PATH}`
  t.after(() => {
    process.env.PATH = PATH
  })
  const count = () =>
    readFileSync(said, 'utf8')
      .split('\n')
      .filter((line) => line === 'WATCHDOG=1').length
  const unit = { NOTIFY_SOCKET: '/run/systemd/notify', WATCHDOG_USEC: '60000' }
  let asked = 0
  let problem: string | null = null
  using _watchdog = startWatchdog(
    async () => {
      asked += 1
      return problem
    },
    pino({ level: 'silent' }),
    readSupervisor({ ...unit, WATCHDOG_PID: ME }),
  )
  await until('it was told three times', () => count() >= 3)
  problem = 'The schedule was not looked at.'
  const enough = asked + 5
  await until('what was on its way is told', () => asked >= enough)
  const before = count()
  const more = asked + 10
  await until('it would have been told ten times', () => asked >= more)
  assert.equal(count(), before)
  for (const env of [
    {},
    { ...unit, WATCHDOG_PID: '1' },
    { ...unit, NOTIFY_SOCKET: '' },
    { ...unit, WATCHDOG_USEC: '' },
  ])
    assert.equal(readSupervisor(env).watchdogMs, null, JSON.stringify(env))
})

test('lines in the journal begin with their priority, and nowhere else', () => {
  const { dev, ino } = fstatSync(2, { bigint: true })
  assert.ok(isJournal(readSupervisor({ JOURNAL_STREAM: `${dev}:${ino}` })))
  assert.ok(!isJournal(readSupervisor({ JOURNAL_STREAM: `${dev}:${ino + 1n}` })))
  assert.ok(!isJournal(readSupervisor({})))
  const { output, text } = collectText()
  const journal = withPriorities(output)
  assert.equal(journal.isTTY, false)
  for (const level of ['debug', 'info', 'warn', 'error', 'fatal'])
    journal.write(`{"level":"${level}","msg":"x"}\n`)
  journal.write('The database cannot be reached.\n  its cause\n')
  journal.write('')
  assert.deepEqual(text().split('\n'), [
    '<7>{"level":"debug","msg":"x"}',
    '<6>{"level":"info","msg":"x"}',
    '<4>{"level":"warn","msg":"x"}',
    '<3>{"level":"error","msg":"x"}',
    '<2>{"level":"fatal","msg":"x"}',
    '<3>The database cannot be reached.',
    '<3>  its cause',
    '',
  ])
})

test('all addresses are those of IPv4 where a machine has none of IPv6', () => {
  const all = { host: '::', port: 9090 }
  const of = (family: 'IPv4' | 'IPv6') => () =>
    ({ eth0: [{ family }] }) as unknown as ReturnType<typeof networkInterfaces>
  /** As RestrictAddressFamilies of the units has it, which leaves out AF_NETLINK. */
  const hidden = () => {
    throw new Error('uv_interface_addresses returned Unknown system error 97')
  }
  assert.deepEqual(onThisMachine(all, of('IPv6')), all)
  assert.deepEqual(onThisMachine(all, of('IPv4')), { host: '0.0.0.0', port: 9090 })
  assert.deepEqual(onThisMachine({ host: '::1', port: 1 }, of('IPv4')), { host: '::1', port: 1 })
  for (const host of ['127.0.0.1', '::'])
    assert.deepEqual(onThisMachine({ host, port: 1 }, hidden), { host, port: 1 })
})
