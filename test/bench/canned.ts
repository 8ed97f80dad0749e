/**
 * A service as a process of its own that has all its answers ready: the ready list of ios_store/app_searches,
 * and the result of each task; posted tasks it creates without keeping them. It makes nothing anew, so that
 * what a client of it costs can be measured. One line of JSON in: the tasks. One line out: its URL.
 */
import { randomUUID } from 'node:crypto'
import { createInterface } from 'node:readline'
import { type Delivery, makeParts } from './bodies.ts'
import { type Answer, endHead, servePlainly } from './plain-server.ts'

const PREFIX = '/v3/app_data/ios_store/app_searches'
const READY_ROWS = 1_000

const say = (line: unknown) => process.stdout.write(`${JSON.stringify(line)}\n`)
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]()
const tasks: readonly Delivery[] = JSON.parse((await lines.next()).value ?? '[]')
/** Those that were not fetched yet, oldest first. */
const waiting = new Map(tasks.map((task) => [task.id, task]))
const byId = new Map(waiting)
/**
 * Of each keyword, with the end of the head before the first part: ids of tasks are all as long, and their
 * tags too.
 */
const answers = new Map(
  [...new Map(tasks.map((task) => [task.keyword, task])).values()].map((task) => {
    const parts = makeParts(task.keyword)
    const { length } = Buffer.concat(fill(parts, task))
    return [task.keyword, [Buffer.concat([endHead(length), ...parts.slice(0, 1)]), ...parts.slice(1)]]
  }),
)

/** The parts of a body with the id, the id and the tag between them. */
function fill(parts: Answer, { id, tag }: Delivery): Answer {
  const [begin, second, third, end] = parts as [Buffer, Buffer, Buffer, Buffer]
  const idBytes = Buffer.from(id, 'latin1')
  return [begin, idBytes, second, idBytes, third, Buffer.from(tag, 'latin1'), end]
}

function answerWith(body: string): Answer {
  const bytes = Buffer.from(body)
  return [endHead(bytes.length), bytes]
}

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

function create(body: Buffer): string {
  const posted: { tag: string }[] = JSON.parse(body.toString('utf8'))
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

const url = await servePlainly((path, body) => {
  if (path === `${PREFIX}/task_post`) return answerWith(create(body))
  if (path === `${PREFIX}/tasks_ready`) return answerWith(listReady())
  const task = byId.get(path.slice(path.lastIndexOf('/') + 1))
  if (task === undefined) return null
  // The path /floor/<id> gives the same body and leaves the task on the ready list.
  if (!path.startsWith('/floor/')) waiting.delete(task.id)
  return fill(answers.get(task.keyword) ?? [], task)
})
say({ url })
for await (const _ of lines);
process.exit(0)
