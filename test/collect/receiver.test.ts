import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { afterEach, describe, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { startReceiver } from '../../src/collect/receiver.ts'
import { UnavailableError } from '../../src/errors.ts'
import { Secret } from '../../src/secret.ts'
import { countStates, depsOf, openOther } from '../post/posting.ts'
import { lasting } from '../support/lasting.ts'
import { clear } from '../support/stages.ts'
import { createWorld, until } from '../support/world.ts'
import { bend, buyOne, buyTasks, countCaptures, holdTable, keywordsOf, openReceiver } from './receiving.ts'

const world = lasting(() => createWorld({ sandbox: { callsPerMinute: 100_000 } }))
afterEach(() => clear(world))

describe("a request that is not the service's", () => {
  test('is answered alike whatever is wrong with it: 404 and nothing else', async (t) => {
    const { origin, secret } = await openReceiver(t, world)
    const wrong = [
      `/${'0'.repeat(48)}`,
      '/',
      `/${secret}/`,
      `/${secret}x`,
      `/${secret.slice(1)}`,
      '/%zz',
      `//${secret}%20`,
    ]
    for (const method of ['GET', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH']) {
      for (const path of wrong) {
        const body = ['GET'].includes(method) ? undefined : 'anything'
        const response = await fetch(`${origin}${path}?id=a&tag=b`, { method, ...(body && { body }) })
        assert.deepEqual([response.status, await response.text()], [404, ''], `${method} ${path}`)
        const names = [...response.headers.keys()].sort()
        assert.deepEqual(names, ['connection', 'content-length', 'date'], 'nothing says what answers')
      }
    }
    for (const method of ['PUT', 'DELETE', 'HEAD', 'OPTIONS']) {
      const response = await fetch(`${origin}/${secret}?id=a`, { method })
      assert.deepEqual([response.status, await response.text()], [404, ''], method)
    }
  })

  test('is answered alike when it is not even HTTP', async (t) => {
    const { receiver } = await openReceiver(t, world)
    const socket = connect(receiver.address.port, '127.0.0.1').setEncoding('utf8')
    let answer = ''
    socket.on('data', (text) => {
      answer += text
    })
    socket.write('SSH-2.0-nonsense\r\n\r\n')
    await once(socket, 'close')
    assert.equal(answer, 'HTTP/1.1 404 Not Found\r\nconnection: close\r\ncontent-length: 0\r\n\r\n')
  })

  test('is cut off when it takes its time, and holds up nobody', async (t) => {
    const { receiver, deliver } = await openReceiver(t, world)
    const slow = connect(receiver.address.port, '127.0.0.1')
    slow.write('POST /x HTTP/1.1\r\nhost:')
    const closed = once(slow.resume(), 'close')
    const task = await buyOne(world)
    assert.equal(await deliver(task, task.answer), 200)
    await closed
  })
})

test('strangers who open every connection and say nothing, or little, keep no delivery out', async (t) => {
  const { receiver, deliver } = await openReceiver(t, world)
  const [first, second] = await buyTasks(world, keywordsOf(2))
  assert.ok(first !== undefined && second !== undefined)
  const strangers = new Set<Socket>()
  t.after(() => {
    for (const socket of strangers) socket.destroy()
  })
  const crowd = async (count: number, says: string) => {
    for (let n = 0; n < count; n += 1) {
      const socket = connect(receiver.address.port, '127.0.0.1').on('error', () => undefined)
      strangers.add(socket.on('close', () => strangers.delete(socket)).resume())
      await once(socket, 'connect')
      if (says !== '') socket.write(says)
    }
  }
  await crowd(300, '')
  assert.equal(await deliver(first, first.answer), 200)
  await crowd(300, 'POST /x HTTP/1.1\r\nhost: a\r\n')
  assert.equal(await deliver(second, second.answer), 200)
})

describe('a postback that cannot be taken', () => {
  test('is 400, and its task stays open', async (t) => {
    const { deliver, origin, secret } = await openReceiver(t, world)
    const task = await buyOne(world)
    const half = gzipSync(task.answer).subarray(0, 500)
    const another = bend(task.answer, (sent) => {
      sent.id = randomUUID()
    })
    const none = JSON.stringify({ ...JSON.parse(task.answer), tasks: null })
    const without = bend(task.answer, (sent) => {
      sent.result = null
    })
    for (const body of [
      Buffer.from(''),
      Buffer.from('not JSON'),
      'not JSON',
      half,
      '[]',
      '{}',
      another,
      none,
      without,
    ]) {
      assert.equal(await deliver(task, body), 400)
    }
    const unnamed = await fetch(`${origin}/${secret}?tag=${task.tag}`, { method: 'POST', body: task.answer })
    assert.equal(unnamed.status, 400)
    assert.equal((await fetch(`${origin}/${secret}?id=${task.id}`, { method: 'POST' })).status, 400)
    assert.deepEqual(await countStates(world.db), { posted: 1 })
    assert.equal(await deliver(task, task.answer), 200)
  })

  test('is 413 when it is too large, as it comes or unpacked', async (t) => {
    const { deliver } = await openReceiver(t, world)
    const task = await buyOne(world)
    assert.equal(await deliver(task, gzipSync(Buffer.alloc(33 * 1024 * 1024, ' '))), 413)
    assert.equal(await deliver(task, Buffer.alloc(4 * 1024 * 1024 + 1, ' ')).catch(() => 413), 413)
    assert.equal(await deliver(task, task.answer), 200)
  })
})

describe('the answer 200', () => {
  test('never comes before the commit', async (t) => {
    const { deliver } = await openReceiver(t, world)
    const task = await buyOne(world)
    const hold = await holdTable(world, 'ranking')
    let status: number | undefined
    const delivered = deliver(task, task.answer).then((answered) => {
      status = answered
    })
    await until('the write waits for the lock', async () => (await hold.waiters()) > 0)
    assert.equal(status, undefined)
    await hold.release()
    await delivered
    assert.equal(status, 200)
    assert.equal(await countCaptures(world), 1)
  })

  test('does not come when the database cannot store, and the ready list still has it', async (t) => {
    const db = openOther(world)
    const { deliver, logLines, secret } = await openReceiver(t, world, { db })
    const task = await buyOne(world)
    await db.close()
    assert.equal(await deliver(task, task.answer), 503)
    assert.deepEqual(await countStates(world.db), { posted: 1 })
    assert.equal(logLines.length, 1)
    assert.match(logLines[0] ?? '', /stay in the ready list/)
    const { batchId, serviceIds } = JSON.parse(logLines[0] ?? '')
    assert.deepEqual([typeof batchId, serviceIds], ['string', [task.id]])
    assert.ok(!logLines.join('').includes(secret))
  })

  test('gives way to 503 when more is held than memory is set aside for', async (t) => {
    const { deliver } = await openReceiver(t, world)
    const tasks = await buyTasks(world, keywordsOf(12), { depth: 300 })
    const hold = await holdTable(world, 'ranking')
    const large = (answer: string) => Buffer.from(answer + ' '.repeat(3_900_000))
    const statuses: number[] = []
    const delivered = tasks.map(async (task) => {
      statuses.push(await deliver(task, large(task.answer)))
    })
    await until('some are refused', async () => statuses.length === 3)
    assert.deepEqual(statuses, [503, 503, 503])
    await hold.release()
    await Promise.all(delivered)
    assert.deepEqual(statuses.slice(3), new Array(9).fill(200))
    assert.deepEqual(await countStates(world.db), { collected: 9, posted: 3 })
  })
})

describe('a receiver that is stopped', () => {
  test('takes nothing new, and answers what it has in hand when that is committed', async (t) => {
    const { deliver, receiver, origin } = await openReceiver(t, world)
    const tasks = await buyTasks(world, keywordsOf(10))
    const hold = await holdTable(world, 'ranking')
    const delivered = tasks.map((task) => deliver(task, task.answer))
    await until('a batch waits', async () => (await hold.waiters()) > 0)
    const closed = receiver.close()
    await until('it takes no connection', () =>
      fetch(origin).then(
        () => false,
        () => true,
      ),
    )
    await hold.release()
    assert.deepEqual(await Promise.all(delivered), new Array(10).fill(200))
    await closed
    assert.equal(await countCaptures(world), 10)
  })

  test('ends all the same when the database hangs', async (t) => {
    const { deliver, receiver } = await openReceiver(t, world)
    const task = await buyOne(world)
    const hold = await holdTable(world, 'ranking')
    const delivered = deliver(task, task.answer).catch(() => 'cut off')
    await until('a batch waits', async () => (await hold.waiters()) > 0)
    await receiver.close()
    assert.equal(await delivered, 'cut off')
    await hold.release()
    await until('what was under way is stored', async () => (await countCaptures(world)) === 1)
  })

  test('names the port that it cannot have', async (t) => {
    const taken = createServer().listen(0, '127.0.0.1')
    await once(taken, 'listening')
    t.after(() => taken.close())
    const { port } = taken.address() as { port: number }
    const deps = { db: world.db, overdueAfterMs: 0, enqueue: async () => {}, store: async () => {} }
    const log = { ...depsOf(world).log } as never
    await assert.rejects(
      startReceiver({ ...deps, log }, new Secret('http://localhost/x'), { host: '127.0.0.1', port }),
      (error) =>
        error instanceof UnavailableError &&
        error.message ===
          `It is not possible to listen on 127.0.0.1:${port}: another program has that port ` +
            '(EADDRINUSE). Choose another address with --listen.',
    )
  })
})
