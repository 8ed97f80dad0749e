/**
 * A service as a process of its own that has all its answers ready: the ready list of ios_store/app_searches,
 * and the result of each task; posted tasks it creates without keeping them. Results it also delivers, as
 * fast as they are taken. It is told the tasks, says its URL, and answers each order to deliver.
 */
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { gzipSync } from 'node:zlib'
import pLimit from 'p-limit'
import { Pool } from 'undici'
import { fillUrl } from '../../src/sandbox/webhooks.ts'
import { createBodies, type Delivery } from './bodies.ts'
import { answerMessages } from './talk.ts'

export interface SendOrder {
  /** With `$id` and `$tag`, as tasks are posted with it. */
  readonly postbackUrl: string
  /** Indices of the tasks, in the order of sending. */
  readonly order: readonly number[]
}

export interface SendReport {
  readonly seconds: number
  /** How often each HTTP status was answered; 0 when the connection failed. */
  readonly statuses: Readonly<Record<string, number>>
}

const PREFIX = '/v3/app_data/ios_store/app_searches'
const READY_ROWS = 1_000
/** As many as a receiver takes: of half as many, 100 wait for one batch, and no other gathers. */
const CONNECTIONS = 256
const GZIP_LEVEL = 1

const [tasks] = (await once(process, 'message')) as [readonly Delivery[]]
/** Those that were not fetched yet, oldest first. */
const waiting = new Map(tasks.map((task) => [task.id, task]))
const byId = new Map(waiting)
const bodyOf = createBodies()

const envelope = (rows: readonly unknown[]) =>
  JSON.stringify({ status_code: 20000, status_message: 'Ok.', tasks_count: rows.length, tasks: rows })

function listReady(): string {
  const result = [...waiting.values().take(READY_ROWS)].map(({ id, tag }) => ({
    id,
    se: 'ios_store',
    se_type: 'organic',
    date_posted: '2026-01-01 00:00:00 +00:00',
    tag,
    endpoint_advanced: `${PREFIX}/task_get/advanced/${id}`,
    endpoint_html: null,
  }))
  const ok = { status_code: 20000, status_message: 'Ok.' }
  return envelope([{ id: 'ready', ...ok, result_count: result.length, result }])
}

function create(body: string): string {
  const posted: { tag: string }[] = JSON.parse(body)
  const created = { status_code: 20100, status_message: 'Task Created.', cost: 0.0012 }
  return envelope(posted.map(({ tag }) => ({ id: randomUUID(), ...created, data: { tag } })))
}

/** The path /floor/<id> gives the same body and leaves the task on the ready list. */
function readResult(path: string): Buffer | null {
  const task = byId.get(path.slice(path.lastIndexOf('/') + 1))
  if (task === undefined) return null
  if (!path.startsWith('/floor/')) waiting.delete(task.id)
  return bodyOf(task)
}

const server = createServer(async (request, response) => {
  const { url: path = '' } = request
  let answer: string | Buffer | null
  if (path === `${PREFIX}/task_post`) answer = create(await text(request))
  else if (path === `${PREFIX}/tasks_ready`) answer = listReady()
  else answer = readResult(path)
  response.writeHead(answer === null ? 404 : 200, { 'content-type': 'application/json' })
  response.end(answer ?? '')
})

/** Bodies are packed before the time counts. */
async function send({ postbackUrl, order }: SendOrder): Promise<SendReport> {
  const { origin, pathname, search } = new URL(postbackUrl)
  const pool = new Pool(origin, { connections: CONNECTIONS })
  const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' }
  const requests = order.flatMap((index) => {
    const task = tasks[index]
    if (task === undefined) return []
    const path = fillUrl(pathname + search, task.id, task.tag)
    return [{ method: 'POST', path, headers, body: gzipSync(bodyOf(task), { level: GZIP_LEVEL }) } as const]
  })
  const statuses: Record<string, number> = {}
  const startedMs = performance.now()
  await pLimit(CONNECTIONS).map(requests, async (request) => {
    const status = await pool
      .request(request)
      .then(({ statusCode, body }) => body.dump().then(() => statusCode))
      .catch(() => 0)
    statuses[status] = (statuses[status] ?? 0) + 1
  })
  const seconds = (performance.now() - startedMs) / 1000
  await pool.close()
  return { seconds, statuses }
}

await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
process.send?.({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` })
answerMessages(send)
