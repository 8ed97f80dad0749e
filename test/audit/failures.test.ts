import assert from 'node:assert/strict'
import { beforeEach, describe, type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { failures } from '../../jobs/failures.ts'
import { describeFailure, recordFailures } from '../../src/audit/failures.ts'
import { RejectedError } from '../../src/errors.ts'
import { pruneWork } from '../../src/history/housekeeping.ts'
import { executeJob } from '../../src/queue/job.ts'
import { Secret } from '../../src/secret.ts'
import type { AppDataClient } from '../../src/service/client.ts'
import type { FailedTask, FailedTaskQuery } from '../../src/service/lists.ts'
import { replaceCalls, setServiceClock } from '../post/posting.ts'
import { openReceiver, type Receiver } from '../sandbox/receiver.ts'
import { lasting } from '../support/lasting.ts'
import { buy, clear, collect, watchKeywords } from '../support/stages.ts'
import { createWorld, until } from '../support/world.ts'

const SECRET = 'c0ffee-5ecret-path'
const NO_RESEND = { resendsWebhooks: false }
const RESEND = { resendsWebhooks: true }

const world = lasting(createWorld)
const record = (client: AppDataClient = world.client, options = NO_RESEND) =>
  recordFailures(world.db, client, 'failures', options)
beforeEach(async () => {
  await clear(world)
  await world.db.sql`truncate service_failure, job_run`
})

/** The world's client, which posts every task with a webhook under the secret path. */
function withWebhook(receiver: Receiver): AppDataClient {
  const webhook = { postbackUrl: `${receiver.url}/${SECRET}/$id`, postbackData: 'advanced' as const }
  return replaceCalls(world.client, {
    postTasks: (store, fn, tasks, send) => {
      const hooked = tasks.map((task) => ({ ...task, ...webhook }))
      return world.client.postTasks(store, fn, hooked, send)
    },
  })
}

/**
 * Buys the keywords with a webhook that refuses everything, until the service lists each delivery as failed.
 */
async function failWebhooks(t: TestContext, keywords: readonly string[]): Promise<Receiver> {
  const receiver = await openReceiver(t)
  receiver.answer = (response) => void response.writeHead(500).end(`no such path: /${SECRET}`)
  await watchKeywords(world, keywords)
  await buy(world, { client: withWebhook(receiver) })
  const ids = (await world.db.sql<{ id: string }[]>`select service_id as id from task`).map((row) => row.id)
  await until('every delivery has failed', async () => {
    const listed = await world.client.listFailedTasks({ filteredFunction: 'postback_url' })
    return ids.every((id) => listed.some((one) => one.id === id))
  })
  return receiver
}

/** What the service lists as failed, as the test says. */
function withFailures(
  listFailedTasks: (query: FailedTaskQuery) => Promise<FailedTask[]>,
  calls: Partial<AppDataClient> = {},
): AppDataClient {
  return replaceCalls(world.client, { listFailedTasks, ...calls })
}

function failureOf(id: string, fields: Partial<FailedTask> = {}): FailedTask {
  const error = { errorCode: 50401, errorMessage: 'The client answered with HTTP 500.' }
  const http = { httpUrl: null, httpMethod: 'POST', httpCode: 500, httpTime: 0.25, httpResponse: null }
  const datetime = new Date('2026-11-03T04:05:06Z')
  return { id, datetime, function: 'postback_url', ...error, ...http, ...fields }
}

async function readTroubles(): Promise<{ subject: string; status: number; message: string }[]> {
  const rows = await world.db.sql<{ subject: string; status: number; message: string }[]>`
    select subject, status_code as status, message from task_problem where kind = 'service_failure'
      order by at, subject`
  return rows.map((row) => ({ ...row }))
}

/** The service ids of our tasks, bought without a webhook. */
async function buyKeywords(keywords: readonly string[]): Promise<string[]> {
  await watchKeywords(world, keywords)
  await buy(world)
  const rows = await world.db.sql<{ id: string }[]>`
    select k.service_id as id from task k join target t on t.id = k.target_id order by t.subject`
  return rows.map((row) => row.id)
}

describe('what the service lists as failed', () => {
  test('is kept of our tasks, once, and shown until their result has come', async (t) => {
    await failWebhooks(t, ['yoga', 'tea'])
    assert.deepEqual(await record(), { recorded: 2, resent: 0 })
    assert.deepEqual(await record(), { recorded: 0, resent: 0 })
    const message =
      'The service could not deliver its webhook (postback_url, HTTP 500: The client answered with ' +
      'HTTP 500). The ready list names the task instead, and its result is fetched.'
    assert.deepEqual(await readTroubles(), [
      { subject: 'tea', status: 50401, message },
      { subject: 'yoga', status: 50401, message },
    ])
    assert.equal((await collect(world)).stored, 2)
    assert.deepEqual(await readTroubles(), [])
  })

  test('is not ours when another program posted it', async () => {
    const [own = ''] = await buyKeywords(['yoga'])
    const client = withFailures(async () => [failureOf('other'), failureOf(own)])
    assert.equal((await record(client)).recorded, 1)
    const rows = await world.db
      .sql`select service_id, function, error_code, http_code, http_seconds from service_failure`
    assert.deepEqual(
      [...rows],
      [{ service_id: own, function: 'postback_url', error_code: 50401, http_code: 500, http_seconds: 0.25 }],
    )
  })

  test('is shown with where it failed and why', async () => {
    const [own = '', other = ''] = await buyKeywords(['tea', 'yoga'])
    const fn = 'app_data/task_get/advanced'
    const client = withFailures(async () => [
      failureOf(own, { function: fn, errorCode: 40101, errorMessage: 'Internal SE server error.' }),
      failureOf(other, { function: fn, errorCode: null, errorMessage: null, httpCode: null }),
    ])
    await record(client)
    assert.deepEqual(await readTroubles(), [
      {
        subject: 'tea',
        status: 40101,
        message:
          `The service lists it as failed at ${fn}: Internal SE server error. It stays open until its ` +
          'result says so.',
      },
      {
        subject: 'yoga',
        status: null,
        message: `The service lists it as failed at ${fn}. It stays open until its result says so.`,
      },
    ])
  })

  test('ends with a page that brings nothing new, where the list ignores the offset', async () => {
    const page = Array.from({ length: 1000 }, (_, n) => failureOf(`other-${n}`))
    let asked = 0
    const client = withFailures(async () => {
      asked += 1
      assert.ok(asked <= 2)
      return page
    })
    assert.equal((await record(client)).recorded, 0)
  })

  test('is read page by page, each within the same day, and rows that come twice are kept once', async () => {
    const [own = ''] = await buyKeywords(['yoga'])
    const rows = Array.from({ length: 2100 }, (_, n) => failureOf(n % 3 === 0 ? own : `other-${n}`))
    const asked: FailedTaskQuery[] = []
    const client = withFailures(async (query) => {
      asked.push(query)
      return rows.slice(query.offset, (query.offset ?? 0) + (query.limit ?? 0))
    })
    assert.equal((await record(client)).recorded, 1)
    assert.deepEqual(
      asked.map((query) => query.offset),
      [0, 1000, 2000],
    )
    assert.equal(new Set(asked.map((query) => query.from?.getTime())).size, 1)
  })

  test('is read back to the last look, a day at least, or a day where the service refuses that', async () => {
    const hoursBack = async (refuses = false) => {
      const asked: number[] = []
      const client = withFailures(async ({ from }) => {
        asked.push(Math.round((Date.now() - (from?.getTime() ?? 0)) / 3_600_000))
        if (refuses && asked.length === 1) throw new RejectedError("Invalid Field: 'datetime_from'.", 40501)
        return []
      })
      await record(client)
      return asked
    }
    const looked = (hoursAgo: number) => world.db.sql`
      insert into job_run (job, slot, state, ended_at)
      values ('failures', now() - ${hoursAgo} * interval '1 hour', 'done',
        now() - ${hoursAgo} * interval '1 hour')`
    assert.deepEqual(await hoursBack(), [167])
    await looked(100)
    assert.deepEqual(await hoursBack(), [101])
    assert.deepEqual(await hoursBack(true), [101, 23])
    await looked(1)
    assert.deepEqual(await hoursBack(), [23])
  })

  test('without a time is still kept once', async () => {
    const [own = ''] = await buyKeywords(['yoga'])
    const client = withFailures(async () => [failureOf(own, { datetime: null, function: null })])
    assert.equal((await record(client)).recorded, 1)
    assert.equal((await record(client)).recorded, 0)
  })

  test('is forgotten after 90 days', async () => {
    await world.db.sql`
      insert into service_failure (service_id, function, at)
      values ('old', 'postback_url', now() - interval '91 days'),
        ('new', 'postback_url', now() - interval '89 days')`
    assert.equal((await pruneWork(world.db)).failures, 1)
  })

  test('is read by the job, which has webhooks sent again only when there is a POSTBACK_URL', async (t) => {
    await failWebhooks(t, ['yoga'])
    const { context } = await world.openRunner()
    assert.deepEqual(await executeJob(context, failures), { recorded: 1, resent: 0 })
    const listening = { ...context.settings, postbackUrl: new Secret(`http://127.0.0.1:9/${SECRET}`) }
    assert.deepEqual(await executeJob({ ...context, settings: listening }, failures), {
      recorded: 0,
      resent: 1,
    })
  })
})

test('the list is asked for by the clock of the service', async (t) => {
  await failWebhooks(t, ['yoga'])
  for (const hours of [-5, 5]) {
    await setServiceClock(t, world, hours)
    await record()
  }
  const rows = await world.db.sql`select service_id from service_failure`
  assert.equal(rows.length, 1)
})

describe('a webhook that failed', () => {
  test('is sent again, once, while its result is still to come', async (t) => {
    const receiver = await failWebhooks(t, ['yoga', 'tea'])
    receiver.answer = (response) => void response.end()
    receiver.received.length = 0
    assert.deepEqual(await record(world.client, RESEND), { recorded: 2, resent: 2 })
    await until('both came again', async () => receiver.received.length === 2)
    assert.deepEqual(await record(world.client, RESEND), { recorded: 0, resent: 0 })
    assert.match(
      (await readTroubles())[0]?.message ?? '',
      /\. It was asked at [-0-9: ]+ UTC to send it again\.$/,
    )
  })

  test('is not sent again when its result is here, nobody listens, or no webhook failed', async (t) => {
    const receiver = await failWebhooks(t, ['yoga'])
    assert.equal((await record()).resent, 0)
    await collect(world)
    receiver.received.length = 0
    assert.equal((await record(world.client, RESEND)).resent, 0)
    const [own = ''] = await buyKeywords(['tea'])
    const client = withFailures(async () => [failureOf(own, { function: 'app_data/task_get/advanced' })])
    assert.equal((await record(client, RESEND)).resent, 0)
    assert.equal(receiver.received.length, 0)
  })

  test('is asked for with at most 100 others', async () => {
    const keywords = Array.from({ length: 250 }, (_, n) => `keyword ${n}`)
    const ids = await buyKeywords(keywords)
    const asked: number[] = []
    const client = withFailures(
      async ({ offset = 0, limit = 0 }) => ids.map((id) => failureOf(id)).slice(offset, offset + limit),
      {
        resendWebhooks: async (some) => {
          asked.push(some.length)
          return []
        },
      },
    )
    assert.deepEqual(await record(client, RESEND), { recorded: 250, resent: 250 })
    assert.deepEqual(asked, [100, 100, 50])
  })

  test('is asked for again when the service could not be asked', async () => {
    const [own = ''] = await buyKeywords(['yoga'])
    const down = async () => {
      throw new Error('down')
    }
    const list = async () => [failureOf(own)]
    await assert.rejects(record(withFailures(list, { resendWebhooks: down }), RESEND), /down/)
    const up = withFailures(list, { resendWebhooks: async () => [] })
    assert.deepEqual(await record(up, RESEND), { recorded: 0, resent: 1 })
  })
})

describe('the secret in the address of a webhook', () => {
  test('reaches no table', async (t) => {
    await failWebhooks(t, ['yoga'])
    const listed = await world.client.listFailedTasks({ filteredFunction: 'postback_url' })
    assert.ok(JSON.stringify(listed).includes(SECRET))
    const telling = listed.map((one) => ({
      ...one,
      errorMessage: `POST ${one.httpUrl} and ${new URL(one.httpUrl ?? '').pathname} answered 500.`,
    }))
    await record(withFailures(async () => telling))
    const tables = await world.db.sql<{ name: string }[]>`
      select format('%I.%I', schemaname, tablename) as name from pg_tables
      where schemaname in ('public', 'pgboss')`
    for (const { name } of tables) {
      const rows = await world.db.sql.unsafe(
        `select 1 from ${name} as row_of where row_of::text like '%${SECRET}%' limit 1`,
      )
      assert.equal(rows.length, 0, `${name} holds the secret`)
    }
    const [kept] = await world.db.sql`select error_message from service_failure`
    assert.match(kept?.error_message, /^POST http:\/\/127\.0\.0\.1:\d+ and \/… answered 500\.$/)
  })

  const address = `https://user:pass@hooks.example.com:8443/${SECRET}/7?key=${SECRET}#${SECRET}`
  const messages: [message: string, kept: string][] = [
    [address, 'https://hooks.example.com:8443'],
    [`Connection to ${address} refused`, 'Connection to https://hooks.example.com:8443 refused'],
    [`"${address}": timeout`, '"https://hooks.example.com:8443 timeout'],
    [`{"url":"${address.replaceAll('/', '\\/')}"}`, '{"url":"https://hooks.example.com:8443'],
    [`HTTPS://HOOKS.EXAMPLE.COM/${SECRET}'s answer`, 'HTTPS://HOOKS.EXAMPLE.COM answer'],
    [encodeURIComponent(address), '…'],
    [`from=${encodeURIComponent(encodeURIComponent(address))} failed`, 'from=… failed'],
    [`POST /${SECRET}/7 answered 500`, 'POST /… answered 500'],
    ['The client answered with HTTP 500.', 'The client answered with HTTP 500.'],
    ['app_data/task_get/advanced: 3:4 // nothing', 'app_data/task_get/advanced: 3:4 // nothing'],
  ]
  for (const [message, kept] of messages) {
    test(`is cut from ${message.replaceAll(SECRET, '…')}`, () => {
      assert.equal(describeFailure({ errorMessage: message, httpUrl: address }), kept)
    })
  }

  test('is cut from any address in any message', () => {
    const word = fc.string({ minLength: 0, maxLength: 20 }).map((text) => text.replaceAll(/[\s:]/g, ''))
    fc.assert(
      fc.property(fc.string(), fc.constantFrom('http', 'https'), word, word, (around, scheme, start, end) => {
        const message = `${around} ${scheme}://host.example.com/${start}${SECRET}${end} ${around}`
        assert.ok(!describeFailure({ errorMessage: message, httpUrl: null })?.includes(SECRET))
      }),
    )
  })

  for (const piece of ['a.', 'a:', 'a%3a', '%25']) {
    test(`is looked for in linear time in a megabyte of ${piece}`, () => {
      const errorMessage = `${piece.repeat(2 ** 20 / piece.length)} https://host/${SECRET}`
      assert.ok(!describeFailure({ errorMessage, httpUrl: null })?.includes(SECRET))
    })
  }
})
