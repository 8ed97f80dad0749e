/** A primary and a standby that follows it by streaming, of installed programs. */
import { chown, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { type Account, chownTo, runProgram } from '../../src/embedded/binaries.ts'
import { query, until } from './embedded.ts'
import { findAccount, findFreePort, startTestServer } from './test-server.ts'

export interface Pair {
  /** Of a superuser, on both. */
  readonly primary: string
  readonly standby: string
  /** Waits until the standby has all that the primary has committed. */
  follow(): Promise<void>
}

/**
 * Both end with the test.
 * @param programs the folder of initdb, pg_ctl and pg_basebackup
 */
export async function startPair(t: TestContext, programs: string): Promise<Pair> {
  const folder = await mkdtemp(join(tmpdir(), 'storerank-standby-'))
  const ends = [() => rm(folder, { recursive: true, force: true })]
  t.after(async () => {
    for (const end of ends.reverse()) await end()
  })
  const account = await findAccount()
  if (account !== undefined) await chown(folder, account.uid, account.gid)
  const home = join(folder, 'primary')
  await mkdir(home)
  const primary = await startTestServer(home, { programs, timeZone: 'UTC' })
  ends.push(() => primary.stop())
  const { url, stop } = await startStandby(new URL(primary.url), { folder, programs, account })
  ends.push(stop)
  const follow = async () => {
    const { lsn } = await query(primary.url, 'select pg_current_wal_lsn()::text as lsn')
    await until('the standby has followed', async () => {
      const { there } = await query(url, `select pg_last_wal_replay_lsn() >= '${lsn}'::pg_lsn as there`)
      return there === true
    })
  }
  return { primary: primary.url, standby: url, follow }
}

interface Place {
  readonly folder: string
  readonly programs: string
  readonly account: Account | undefined
}

async function startStandby(primary: URL, { folder, programs, account }: Place) {
  const passFile = join(folder, 'passfile')
  await writeFile(passFile, `*:*:*:*:${primary.password}\n`, { mode: 0o600 })
  if (account !== undefined) await chownTo(account, passFile)
  const run = async (program: string, args: string[]) => {
    const quiet = program === 'pg_ctl'
    const { code, errors } = await runProgram(join(programs, program), args, { account, quiet })
    if (code !== 0) throw new Error(`${program} of ${programs} failed: ${errors.trim()}`)
  }
  const data = join(folder, 'standby')
  const source = `host=${primary.hostname} port=${primary.port} user=${primary.username} passfile=${passFile}`
  await run('pg_basebackup', ['-d', source, '-D', data, '--write-recovery-conf', '--checkpoint=fast'])
  const port = await findFreePort()
  await run('pg_ctl', ['start', '-w', '-D', data, '-l', join(folder, 'standby.log'), '-o', `-p ${port}`])
  const url = new URL(primary)
  url.port = String(port)
  return { url: url.href, stop: () => run('pg_ctl', ['stop', '-w', '-m', 'fast', '-D', data]) }
}
