/**
 * The temporary PostgreSQL of a run of tests: the embedded one, or one made with the programs of another
 * installation.
 */
import { randomBytes } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import postgres from 'postgres'
import { attachEmbedded } from '../../src/embedded/attach.ts'
import { type Account, chownTo, runProgram } from '../../src/embedded/binaries.ts'
import { openCluster, ROLE } from '../../src/embedded/cluster.ts'

export interface TestServer {
  /** Of a superuser. */
  readonly url: string
  stop(): Promise<void>
}

export interface TestServerOptions {
  /** The folder of initdb and pg_ctl; without it the server is the embedded one. */
  readonly programs?: string | undefined
  readonly timeZone: string
}

/**
 * Speed instead of safety: the data is thrown away. Hundreds of databases that live for seconds need no
 * autovacuum either. Debian's server compiles statements, which takes far longer than they do; the sessions
 * of the product have that off.
 */
const SETTINGS = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  autovacuum: 'off',
  jit: 'off',
  max_connections: '300',
}

/** @param home an empty folder, which the server keeps its data in, or a link to it */
export async function startTestServer(home: string, options: TestServerOptions): Promise<TestServer> {
  const settings = { ...SETTINGS, timezone: options.timeZone }
  const server = await (options.programs === undefined
    ? startEmbedded(home, settings)
    : startInstalled(home, options.programs, settings))
  await shortenLogins(server.url)
  return server
}

/** Thousands of sessions log in: the password is hashed once where the server lets it, not 4,096 times. */
async function shortenLogins(url: string): Promise<void> {
  const sql = postgres(url, { max: 1 })
  const [row] =
    await sql`select current_setting('scram_iterations', true) is not null as may, current_user as me`
  if (row?.may) {
    await sql.unsafe(`set scram_iterations = 1; alter role ${row.me} password '${new URL(url).password}'`)
  }
  await sql.end()
}

async function startEmbedded(home: string, settings: Record<string, string>): Promise<TestServer> {
  await openCluster(home, settings)
  const server = await attachEmbedded({ home, database: 'storerank_test_admin' })
  return { url: server.url, stop: () => server.dispose() }
}

async function startInstalled(
  home: string,
  programs: string,
  settings: Record<string, string>,
): Promise<TestServer> {
  const account = await findAccount()
  const data = join(home, 'data')
  const log = join(home, 'server.log')
  const passwordFile = join(home, 'password')
  const password = randomBytes(24).toString('hex')
  await writeFile(passwordFile, password, { mode: 0o600 })
  if (account !== undefined) await chownTo(account, home)
  const run = async (program: string, args: string[]) => {
    const { code, errors } = await runProgram(join(programs, program), args, {
      account,
      quiet: program === 'pg_ctl',
    })
    if (code === 0) return
    const said = errors || (await readFile(log, 'utf8').catch(() => ''))
    throw new Error(`${program} of ${programs} failed: ${said.trim()}`)
  }
  const port = await findFreePort()
  const all = { ...settings, listen_addresses: '127.0.0.1', port: String(port), unix_socket_directories: '' }
  await run('initdb', [
    `--pgdata=${data}`,
    `--username=${ROLE}`,
    `--pwfile=${passwordFile}`,
    '--auth=scram-sha-256',
    '--encoding=UTF8',
    '--locale=C.UTF-8',
  ])
  const lines = Object.entries(all).map(([name, value]) => `${name} = '${value}'\n`)
  await writeFile(join(data, 'postgresql.auto.conf'), lines.join(''), { flag: 'a' })
  await run('pg_ctl', ['start', '-w', '-D', data, '-l', log])
  return {
    url: `postgres://${ROLE}:${password}@127.0.0.1:${port}/postgres`,
    stop: () => run('pg_ctl', ['stop', '-w', '-m', 'fast', '-D', data]),
  }
}

/**
 * Who runs the server for root, which PostgreSQL refuses: the account that its package has made, or nobody.
 */
export async function findAccount(): Promise<Account | undefined> {
  if (process.geteuid?.() !== 0) return undefined
  for (const name of ['postgres', 'nobody']) {
    const [uid, gid] = await Promise.all(
      ['-u', '-g'].map((flag) => runProgram('id', [flag, name], { account: undefined })),
    )
    if (uid?.code === 0 && gid?.code === 0) return { uid: Number(uid.output), gid: Number(gid.output) }
  }
  throw new Error('There is no account, neither postgres nor nobody, to run PostgreSQL for root.')
}

export async function findFreePort(): Promise<number> {
  const listener = createServer()
  return new Promise((resolve, reject) => {
    listener.once('error', reject)
    listener.listen(0, '127.0.0.1', () => {
      const address = listener.address()
      const port = typeof address === 'object' && address !== null ? address.port : 0
      listener.close(() => resolve(port))
    })
  })
}
