import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { ConfigurationError, UnavailableError } from '../../src/errors.ts'
import { describeTrouble } from '../../src/trouble.ts'
import { callCommand, makeCommandHome, startCommand } from '../support/command.ts'
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
      for (const command of [['status'], ['migrate']]) {
        const { code, stdout, stderr } = await callCommand(command, OWN(url))
        assert.deepEqual([command, code, stdout], [command, 2, ''])
        assert.match(
          stderr,
          /^The login of DATABASE_URL may not do that: permission .+ use `storerank sql`.*\.\n$/,
        )
      }
      const { code, stdout, stderr } = await callCommand(['sql', 'table watch_problem', '--csv'], OWN(url))
      assert.equal(code, 0, stderr)
      assert.match(stdout, /^watch_table,/)
    }
  })
})

describe('describeTrouble', () => {
  const coded = (code: string, message = 'what happened') => Object.assign(new Error(message), { code })

  test('takes a lost connection for something that a later run mends', () => {
    for (const code of [
      'ECONNREFUSED',
      'ENOTFOUND',
      'CONNECTION_CLOSED',
      'CONNECT_TIMEOUT',
      '57P01',
      '53300',
      '08006',
    ]) {
      assert.ok(describeTrouble(coded(code)) instanceof UnavailableError, code)
    }
  })

  test('knows a connection that pg has lost by its message, and a server without room by its code', () => {
    const lost = describeTrouble(new Error('Connection terminated unexpectedly'))
    assert.match(lost?.message ?? '', /cannot be reached: Connection terminated unexpectedly\./)
    const segment = 'could not resize shared memory segment "/PostgreSQL.1" to 8388608 bytes: No space left'
    const little = describeTrouble(coded('53100', segment))
    assert.match(little?.message ?? '', /^The database server has too little shared memory: .*shm_size/)
    const standby = describeTrouble(coded('25006', 'cannot execute INSERT in a read-only transaction'))
    assert.ok(standby instanceof UnavailableError, 'a failover passes')
    const full = describeTrouble(coded('53100', 'could not extend file: No space left on device'))
    assert.ok(full instanceof UnavailableError)
    assert.match(full.message, /No space left on device\. Make room on its disk/)
    const login = describeTrouble(coded('XX000', 'could not write init file (Queue: job, Worker: 1)'))
    assert.ok(login instanceof UnavailableError)
    assert.match(login.message, /could not write init file.*\. Make room on its disk/)
  })

  test('takes for a setting only what no administrator mends while a unit tries again', () => {
    assert.ok(describeTrouble(coded('42501')) instanceof ConfigurationError)
    for (const code of ['28P01', '28000', '3D000', '25006']) {
      assert.ok(describeTrouble(coded(code)) instanceof UnavailableError, code)
    }
    const few = describeTrouble(coded('53300', 'sorry, too many clients already'))
    assert.match(few?.message ?? '', /gives no more connections: sorry.*DATABASE_CONNECTIONS says/)
  })

  test('names the remedy of a certificate that is not trusted', () => {
    for (const code of [
      'DEPTH_ZERO_SELF_SIGNED_CERT',
      'SELF_SIGNED_CERT_IN_CHAIN',
      'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
      'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
      'ERR_TLS_CERT_ALTNAME_INVALID',
      'CERT_HAS_EXPIRED',
    ]) {
      const trouble = describeTrouble(coded(code))
      assert.ok(trouble instanceof UnavailableError, code)
      assert.match(trouble.message, /certificate is not trusted: what happened\..*NODE_EXTRA_CA_CERTS/)
    }
  })

  test('finds the reason below the error that wraps it, and shows it where a list of errors has none', () => {
    const wrapped = new Error('Failed query: select 1', { cause: coded('ECONNRESET', '') })
    assert.match(
      describeTrouble(wrapped)?.message ?? '',
      /cannot be reached: it closed the connection .* \(ECONNRESET\)\./,
    )
  })

  test('says nothing of other errors', () => {
    for (const error of [coded('42601'), coded('ERR_ASSERTION'), new TypeError('x'), 'text', undefined]) {
      assert.equal(describeTrouble(error), null)
    }
  })
})

describe('storerank sandbox', () => {
  test('serves until SIGINT, and nobody without its password', async (t) => {
    const command = startCommand(t, [
      'sandbox',
      '--port',
      '0',
      '--login',
      'me',
      '--password',
      'hush',
      '--ready-ms',
      '1',
    ])
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
