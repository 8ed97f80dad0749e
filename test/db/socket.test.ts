/** A server that only pretends to be ours is not told the password, by either driver. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { describe, type TestContext, test } from 'node:test'
import { pino } from 'pino'
import { openDatabase } from '../../src/db/database.ts'
import { migrate } from '../../src/db/migrate.ts'
import { GuardedSocket } from '../../src/db/socket.ts'
import { openQueue } from '../../src/queue/queue.ts'
import { callCommand } from '../support/command.ts'
import { createTestDatabase } from '../support/database.ts'
import { authentication, startImpostor } from '../support/impostor.ts'

const PASSWORD = 'hush-db'
const SALT = Buffer.from([1, 2, 3, 4])
const READY = Buffer.from('Z\0\0\0\x05I', 'latin1')

const OK = Buffer.concat([authentication(0), READY])
const CLEARTEXT = authentication(3)
const MD5 = authentication(5, SALT)
const GSSAPI = authentication(7)
const SCRAM = authentication(10, 'SCRAM-SHA-256\0\0')
const challenge = (iterations: number) => authentication(11, `r=x,s=c2FsdA==,i=${iterations}`)

const md5 = (text: string | Buffer) => createHash('md5').update(text).digest('hex')
const MD5_ANSWER = md5(Buffer.concat([Buffer.from(md5(`${PASSWORD}me`)), SALT]))

/** Everything of storerank that connects. */
const USERS: Record<string, (url: string) => Promise<unknown>> = {
  migrate,
  'a runner': async (url) => {
    const db = openDatabase(url)
    await db.sql`select 1`.finally(() => db.close())
  },
  "a job's lock": async (url) => {
    const db = openDatabase(url)
    const session = db.openSession(60_000)
    await session`select 1`.finally(() => Promise.all([session.end(0), db.close()]))
  },
  'the queue': async (url) => {
    const queue = await openQueue(url, pino({ level: 'silent' }))
    await queue.stop(0)
  },
}

async function refusalOf(use: (url: string) => Promise<unknown>, port: number): Promise<string> {
  const error = await use(`postgres://me:${PASSWORD}@127.0.0.1:${port}/ranks`).then(
    () => assert.fail('it was let in'),
    (reason: Error) => reason,
  )
  assert.equal((error as { code?: string }).code, 'unavailable', String(error))
  return error.message
}

for (const [name, use] of Object.entries(USERS)) {
  describe(`${name} refuses a server that`, () => {
    async function refuses(t: TestContext, says: Buffer[], sentence: RegExp, options = {}): Promise<void> {
      const impostor = await startImpostor(t, says, options)
      assert.match(await refusalOf(use, impostor.port), sentence)
      const heard = impostor.heard().join()
      assert.ok(!heard.includes(PASSWORD) && !heard.includes(MD5_ANSWER), 'it was not told the password')
    }

    test('asks for the password in clear text', (t) =>
      refuses(t, [CLEARTEXT], /asks for the password in clear text, and was not told it\..*verify-full/))

    test('does so byte by byte, behind a notice', async (t) => {
      const notice = Buffer.from('N\0\0\0\x08Mhi\0\0', 'latin1')
      notice.writeUInt32BE(notice.length - 1, 1)
      const says = [Buffer.concat([notice, CLEARTEXT])]
      await refuses(t, says, /clear text/, { bytewise: true })
    })

    test('asks for it by MD5', (t) => refuses(t, [MD5], /asks for the password by MD5/))

    test('lets anybody in', (t) =>
      refuses(t, [OK], /without asking .* take the password out of DATABASE_URL/))

    test('begins SCRAM and then lets us in without proof', (t) =>
      refuses(t, [SCRAM, OK], /without asking for the password/))

    test('asks for more work than a process can do', (t) =>
      refuses(t, [SCRAM, challenge(2 ** 31)], /more than 100000 rounds/))

    test('asks for another kind of login', (t) => refuses(t, [GSSAPI], /a kind of login that storerank/))

    test('does not speak the protocol', (t) =>
      refuses(t, [Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n')], /does not speak as PostgreSQL does/))
  })
}

test('a command says so in a sentence', async (t) => {
  const { port } = await startImpostor(t, [CLEARTEXT])
  const env = { DATABASE_URL: `postgres://me:${PASSWORD}@127.0.0.1:${port}/ranks`, LOG_LEVEL: 'error' }
  for (const command of [['migrate'], ['start'], ['sql', 'select 1']]) {
    const { code, stdout, stderr } = await callCommand(command, { env })
    assert.deepEqual([command, code, stdout], [command, 1, ''])
    assert.match(
      stderr,
      /^The database server at 127\.0\.0\.1:\d+ asks for the password in clear text[^\n]+\n$/,
    )
  }
})

test('a server that lets people in without a password may do so when DATABASE_URL has none', async (t) => {
  const { port } = await startImpostor(t, [OK])
  const socket = new GuardedSocket('here', false).connect(port, '127.0.0.1')
  t.after(() => socket.destroy())
  socket.write('startup')
  const [heard] = await once(socket, 'data')
  assert.deepEqual(heard, OK)
})

test('a server that proves that it knows the password is let in', async (t) => {
  const database = await createTestDatabase()
  t.after(() => database.drop())
  for (const use of Object.values(USERS)) await use(database.url)
})
