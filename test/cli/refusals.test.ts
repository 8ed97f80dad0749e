import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { ConfigurationError, UnavailableError } from '../../src/errors.ts'
import { describeTrouble } from '../../src/trouble.ts'
import { callCommand, commandsWith, makeCommandHome, startCommand } from '../support/command.ts'
import { createTestDatabase } from '../support/database.ts'
import { addPerson } from '../support/people.ts'

const OWN = (url: string) => ({ env: { DATABASE_URL: url, LOG_LEVEL: 'error' } })

describe('a database that cannot be used is told in one sentence', () => {
  for (const command of [['run'], ['start'], ['plan'], ['sql', 'select 1']]) {
    test(`nobody listens: storerank ${command.join(' ')}`, async () => {
      const { code, stdout, stderr } = await callCommand(
        command,
        OWN('postgres://me:hush-db@127.0.0.1:1/ranks'),
      )
      assert.deepEqual([code, stdout], [1, ''])
      assert.match(
        stderr,
        /^The database cannot be reached: [^\n]*ECONNREFUSED[^\n]*DATABASE_URL names it\.\n$/,
      )
    })
  }

  test('there is no such database', async () => {
    const url = new URL(process.env.TEST_DATABASE_URL ?? '')
    url.pathname = '/not_there'
    const { code, stderr } = await callCommand(['run'], OWN(url.href))
    assert.equal(code, 1)
    assert.match(stderr, /^The database refuses us: database "not_there" does not exist\.[^\n]*\n$/)
  })

  test('an editor or a reader tries what the owner does, and may look', async (t) => {
    const database = await createTestDatabase()
    const people = [
      await addPerson(database.sql, 'storerank_editor'),
      await addPerson(database.sql, 'storerank_reader'),
    ]
    t.after(async () => {
      for (const person of people) await person.remove()
      await database.drop()
    })
    for (const { url } of people) {
      const { succeed, refuse } = commandsWith(() => OWN(url).env)
      const denied = /^The login of DATABASE_URL may not do that: permission .+ use `storerank sql`.*\.\n$/
      for (const command of ['status', 'migrate']) await refuse([command], denied)
      assert.match(await succeed('sql', 'table watch_problem', '--csv'), /^watch_table,/)
    }
  })
})

describe('describeTrouble', () => {
  const coded = (code: string, message = 'what happened') => Object.assign(new Error(message), { code })
  const segment = 'could not resize shared memory segment "/PostgreSQL.1" to 8388608 bytes: No space left'
  const certificate = /certificate is not trusted: what happened\..*NODE_EXTRA_CA_CERTS/
  const wrapped = new Error('Failed query: select 1', { cause: coded('ECONNRESET', '') })
  const troubles: [codes: string, Error, says: RegExp][] = [
    ['ECONNREFUSED ENOTFOUND CONNECTION_CLOSED CONNECT_TIMEOUT 57P01 08006', new Error('gone'), /gone/],
    // What no administrator mends while a unit tries again is a setting; a failover passes.
    ['28P01 28000 3D000', new Error('no'), /no/],
    ['25006', new Error('cannot execute INSERT in a read-only transaction'), /read-only/],
    ['53300', new Error('sorry, too many'), /gives no more connections: sorry.*DATABASE_CONNECTIONS says/],
    ['53100', new Error(segment), /^The database server has too little shared memory: .*shm_size/],
    ['53100', new Error('could not extend file: No space'), /No space\. Make room on its disk/],
    ['XX000', new Error('could not write init file (Queue: job)'), /init file.*\. Make room on its disk/],
    ['DEPTH_ZERO_SELF_SIGNED_CERT SELF_SIGNED_CERT_IN_CHAIN', new Error('what happened'), certificate],
    ['UNABLE_TO_VERIFY_LEAF_SIGNATURE CERT_HAS_EXPIRED', new Error('what happened'), certificate],
    ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', new Error('what happened'), certificate],
    ['ERR_TLS_CERT_ALTNAME_INVALID', new Error('what happened'), certificate],
  ]
  for (const [codes, { message }, says] of troubles) {
    test(`takes ${codes} for something that a later run mends: ${message}`, () => {
      for (const code of codes.split(' ')) {
        const trouble = describeTrouble(coded(code, message))
        assert.ok(trouble instanceof UnavailableError, code)
        assert.match(trouble.message, says)
      }
    })
  }

  test('finds the reason below the error that wraps it, and a connection that pg has lost', () => {
    const reset = /cannot be reached: it closed the connection .* \(ECONNRESET\)\./
    assert.match(describeTrouble(wrapped)?.message ?? '', reset)
    const lost = describeTrouble(new Error('Connection terminated unexpectedly'))
    assert.match(lost?.message ?? '', /it closed the connection .* \(Connection terminated unexpectedly\)\./)
  })

  test('takes what a login may not do for a setting, and says nothing of other errors', () => {
    assert.ok(describeTrouble(coded('42501')) instanceof ConfigurationError)
    for (const error of [coded('42601'), coded('ERR_ASSERTION'), new TypeError('x'), 'text', undefined])
      assert.equal(describeTrouble(error), null)
  })
})

describe('storerank sandbox', () => {
  test('serves until SIGINT, and nobody without its password', async (t) => {
    const words = 'sandbox --port 0 --login me --password hush --ready-ms 1'
    const command = startCommand(t, words.split(' '))
    await new Promise((resolve) => command.child.stdout?.once('data', resolve))
    const url = /http:\/\/127\.0\.0\.1:\d+/.exec(command.stdout())?.[0]
    const ask = (login: string) =>
      fetch(`${url}/v3/appendix/user_data`, { headers: { authorization: `Basic ${btoa(login)}` } })
    assert.equal((await ask('me:wrong')).status, 401)
    assert.equal((await ask('me:hush')).status, 200)
    command.child.kill('SIGINT')
    const { code, stdout, stderr } = await command.ended
    assert.ok(code === 0 || code === 130)
    assert.ok(!(stdout + stderr).includes('hush'))
  })

  test('says in a sentence what is wrong with an option', async () => {
    const holder = createServer().listen(0, '127.0.0.1')
    await new Promise((resolve) => holder.once('listening', resolve))
    const { port } = holder.address() as AddressInfo
    const misuses: [args: string[], message: RegExp][] = [
      [['--port', String(port)], /^The sandbox cannot start: the port \d+ is in use\. [^\n]*\n$/],
      [
        ['--catalog', '/not/there.csv'],
        /^The sandbox cannot start: \/not\/there\.csv: there is no such file/,
      ],
      [
        ['--events', '/not/there.json'],
        /^The sandbox cannot start: --events: \/not\/there\.json: there is no/,
      ],
      [
        ['--state', '/not/there/books'],
        /^The sandbox cannot start: \/not\/there\/books\.lock cannot be opened/,
      ],
      [['--faults', 'nope=1'], /^The sandbox cannot start: --faults: Unrecognized key: "nope"\.\n$/],
      [['--faults', '{bad'], /^The sandbox cannot start: --faults: it is no JSON: [^\n]*\n$/],
      [['--login', ''], /^The sandbox cannot start: --login: [^\n]*\n$/],
    ]
    try {
      for (const [args, message] of misuses) {
        const { code, stderr } = await callCommand(['sandbox', ...args])
        assert.equal(code, 2)
        assert.match(stderr, message)
      }
    } finally {
      holder.close()
    }
  })
})

test('what only looks creates no database: it says how to begin', async (t) => {
  const home = await makeCommandHome(t)
  for (const command of [['plan'], ['status'], ['sql', 'select 1']]) {
    const { code, stderr } = await callCommand(command, { home })
    assert.equal(code, 2)
    assert.match(
      stderr,
      /^There is no embedded database in [^\n]+ yet\. Run `storerank run` first, or set DATABASE_URL\.\n$/,
    )
  }
  assert.equal(existsSync(join(home, 'postgres')), false)
})
