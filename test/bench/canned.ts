/**
 * A service as a process of its own that has all its answers ready: the ready list of ios_store/app_searches, and the result of each
 * task; posted tasks it creates without keeping them. It makes nothing anew, so that what a client of it costs can be measured. One line of JSON in: the tasks. One line out: its URL.
 */
import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createInterface } from 'node:readline'
import { createBodies, type Delivery } from './bodies.ts'

const PREFIX = '/v3/app_data/ios_store/app_searches'
const READY_ROWS = 1_000

const say = (line: unknown) => process.stdout.write(`${JSON.stringify(line)}\n`)
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]()
const tasks: readonly Delivery[] = JSON.parse((await lines.next()).value ?? '[]')
const bodyOf = createBodies()
for (const task of new Map(tasks.map((task) => [task.keyword, task])).values()) bodyOf(task)
/** Those that were not fetched yet, oldest first. */
const waiting = new Map(tasks.map((task) => [task.id, task]))
const byId = new Map(waiting)

function listReady(): string {
  const rows = [...waiting.values().take(READY_ROWS)].map(({ id, tag }) => ({
    id,
    se: 'ios_store',
    se_type: 'organic',
    date_posted: '2026-01-01 00:00:00 +00:00',
    tag,
    endpoint_advanced: `${PREFIX}/task_get/advanced/${id}`,
    endpoint_html: null,
  }))
  const task = {
    id: 'ready',
    status_code: 20000,
    status_message: 'Ok.',
    result_count: rows.length,
    result: rows,
  }
  return JSON.stringify({ status_code: 20000, status_message: 'Ok.', tasks_count: 1, tasks: [task] })
}

async function create(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  const posted: { tag: string }[] = JSON.parse(Buffer.concat(chunks).toString('utf8'))
  const created = posted.map(({ tag }) => ({
    id: randomUUID(),
    status_code: 20100,
    status_message: 'Task Created.',
    cost: 0.0012,
    data: { tag },
  }))
  return JSON.stringify({
    status_code: 20000,
    status_message: 'Ok.',
    tasks_count: created.length,
    tasks: created,
  })
}

const server = createServer(async (request, response) => {
  const path = request.url ?? ''
  const answer = (body: string | Buffer) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end(body)
  if (path === `${PREFIX}/task_post`) return answer(await create(request))
  if (path === `${PREFIX}/tasks_ready`) return answer(listReady())
  const task = byId.get(path.slice(path.lastIndexOf('/') + 1))
  if (task === undefined) return response.writeHead(404).end()
  // The path /floor/<id> gives the same body and leaves the task on the ready list.
  if (!path.startsWith('/floor/')) waiting.delete(task.id)
  return answer(bodyOf(task))
})
await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
say({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` })
for await (const _ of lines);
process.exit(0)
