/**
 * A service as a process of its own that takes posts of tasks and delivers the result of each after a while,
 * as fast as it is taken. It keeps no books. It says its URL; the first line of its input are the receivers'
 * URLs, which take turns as behind one address; at each further line it says what it has delivered.
 */
import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createInterface } from 'node:readline'
import { gzipSync } from 'node:zlib'
import pLimit from 'p-limit'
import { Pool } from 'undici'
import { fillUrl } from '../../src/sandbox/webhooks.ts'
import { listKeywords, makeParts } from './bodies.ts'

export interface Delivered {
  readonly posts: number
  readonly delivered: number
  /** Deliveries that were not answered with 200, and came again. */
  readonly refused: number
}

/** Later than the answer to the post is settled. */
const READY_MS = 2_000
const AGAIN_MS = 1_000
/** To each receiver as many as the sandbox has under way. */
const CONNECTIONS = 64
const GZIP_LEVEL = 1

/** What does not change of a body is compressed once: a gzip file may have several members. */
const templates = listKeywords().map((keyword) =>
  makeParts(keyword).map((part) => gzipSync(part, { level: GZIP_LEVEL })),
)

function bodyOf(id: string, tag: string, place: number): Buffer {
  const [zippedId, zippedTag] = [id, tag].map((text) => gzipSync(text, { level: 0 })) as [Buffer, Buffer]
  const between = [zippedId, zippedId, zippedTag]
  const parts = templates[place % templates.length] ?? []
  return Buffer.concat(parts.flatMap((part, index) => [part, between[index] ?? Buffer.alloc(0)]))
}

const done = { posts: 0, delivered: 0, refused: 0 }
let receivers: { readonly url: string; readonly pool: Pool }[] = []
let limit = pLimit(CONNECTIONS)
let turn = 0

async function deliver(id: string, tag: string, place: number): Promise<void> {
  const receiver = receivers[turn++ % receivers.length]
  if (receiver === undefined) throw new Error('There is no receiver.')
  const { pathname, search } = new URL(fillUrl(receiver.url, id, tag))
  const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' }
  const status = await receiver.pool
    .request({ method: 'POST', path: pathname + search, headers, body: bodyOf(id, tag, place) })
    .then(async ({ statusCode, body }) => {
      await body.dump()
      return statusCode
    })
    .catch(() => 0)
  if (status === 200) {
    done.delivered += 1
    return
  }
  done.refused += 1
  setTimeout(() => void limit(() => deliver(id, tag, place)), AGAIN_MS)
}

async function create(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  const posted: { tag: string }[] = JSON.parse(Buffer.concat(chunks).toString('utf8'))
  const created = posted.map(({ tag }) => ({ id: randomUUID(), tag }))
  done.posts += 1
  setTimeout(() => {
    for (const [place, { id, tag }] of created.entries())
      void limit(() => deliver(id, tag, done.posts + place))
  }, READY_MS)
  const tasks = created.map(({ id, tag }) => ({
    id,
    status_code: 20100,
    status_message: 'Task Created.',
    cost: 0.0012,
    data: { tag },
  }))
  return JSON.stringify({ status_code: 20000, status_message: 'Ok.', tasks_count: tasks.length, tasks })
}

const server = createServer(async (request, response) => {
  if (!request.url?.endsWith('/task_post')) {
    response.writeHead(404).end()
    return
  }
  const answer = await create(request)
  response.writeHead(200, { 'content-type': 'application/json' }).end(answer)
})
await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
const say = (line: unknown) => process.stdout.write(`${JSON.stringify(line)}\n`)
say({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` })
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]()
const urls: readonly string[] = JSON.parse((await lines.next()).value ?? '[]')
receivers = urls.map((url) => ({ url, pool: new Pool(new URL(url).origin, { connections: CONNECTIONS }) }))
limit = pLimit(CONNECTIONS * urls.length)
say({})
for await (const _ of lines) say(done satisfies Delivered)
process.exit(0)
