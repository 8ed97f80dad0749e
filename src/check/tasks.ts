/**
 * The service's list of the account's tasks (id_list), which is the proof of what was bought; who else buys
 * on the account; and results, by those that it has bought already: to fetch one again is free.
 */
import { RejectedError } from '../errors.ts'
import { parseTag } from '../ledger/tag.ts'
import type { Reply } from '../service/answer.ts'
import type { AppDataClient } from '../service/client.ts'
import { isObject, readCost } from '../service/fields.ts'
import { billingUnits, findRule } from '../service/functions.ts'
import { formatInstant } from '../service/requests.ts'
import { readPostedTask } from '../service/task-ids.ts'
import { ask, differs, type Finding, holds, judge, rowsIn, unknown } from './finding.ts'

const DAY_MS = 86_400_000
/** Tags are listed for a month. */
const DAYS = 27
const ROWS = 1000
/** A second may end between the question and its answer. */
const ATTEMPTS = 3
/** Times of the list are whole seconds: this is earlier than the present. */
const EARLIER_MS = 1000
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

/** A raw row of id_list. */
type Row = Record<string, unknown>

/** @returns the findings, and the raw rows, the newest first */
export async function checkTaskList(
  client: AppDataClient,
  installation: string,
): Promise<{ findings: Finding[]; rows: Row[] }> {
  const edge = await checkEdge(client)
  const present = await client.readServiceTime()
  const reply = await askList(client, new Date(present.getTime() - EARLIER_MS), ROWS)
  const rows = rowsIn(reply).filter(isObject)
  if (rows.length === 0) {
    const none = unknown('form of id_list', `The account has no task of the last ${DAYS} days.`)
    return { rows, findings: [edge, none] }
  }
  const findings = [
    edge,
    ...describeForm(rows),
    describePrograms(rows, installation),
    describeUnits(rows, client),
  ]
  return { rows, findings }
}

function askList(client: AppDataClient, to: Date, limit: number): Promise<Reply> {
  const body = {
    datetime_from: formatInstant(new Date(to.getTime() - DAYS * DAY_MS)),
    datetime_to: formatInstant(to),
    limit,
    offset: 0,
    sort: 'desc',
    include_metadata: true,
  }
  return client.askFree({ kind: 'id_list', method: 'POST', path: '/v3/app_data/id_list', body: [body] })
}

/** Whether the range may end in the second in which it is asked. */
async function checkEdge(client: AppDataClient): Promise<Finding> {
  const about = 'end of id_list'
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    const to = await client.readServiceTime()
    const { statusCode, answeredAt } = await askList(client, to, 1)
    if (statusCode >= 40000 && statusCode !== 40102)
      return differs(
        about,
        "Its range must end before the service's present. It ends some seconds earlier; what happened " +
          'since is seen by the next look.',
      )
    if (answeredAt?.getTime() === to.getTime())
      return holds(about, "Its range may end in the service's present.")
  }
  return unknown(about, 'The service answered too slowly to tell.')
}

function describeForm(rows: readonly Row[]): Finding[] {
  return [
    judge(
      'address of a listed task',
      !rows.some(({ url }) => /^https?:/.test(String(url))),
      'It is a path.',
      'It has the host. The path is read out of it.',
    ),
    judge(
      'ids of tasks',
      rows.every(({ id }) => UUID.test(String(id))),
      'They are UUIDs.',
      'They are no UUIDs. Ids are taken as they are.',
    ),
    judge(
      'status of a listed task',
      rows.every(({ status }) => /^\d{5}$/.test(String(status))),
      'It is a code.',
      'It is a message. The result itself says how a task ended.',
    ),
    judge(
      'parameters of a listed task',
      rows.every(({ metadata }) => isObject(metadata)),
      'They are listed, with the tag.',
      'Some tasks are listed without them. A task without its tag is taken for one of others.',
    ),
  ]
}

/** By the tags: those of this database, of another storerank, and of other programs. */
function describePrograms(rows: readonly Row[], installation: string): Finding {
  const tags = rows.map(({ metadata }) => (isObject(metadata) ? parseTag(String(metadata.tag ?? '')) : null))
  const installations = new Set(tags.flatMap((tag) => tag?.origin?.installation ?? []))
  installations.delete(installation)
  const others = tags.filter((tag) => tag === null).length
  const says = [
    ...(installations.size > 0 ? [`${installations.size} other databases of storerank`] : []),
    ...(others > 0 ? [`other programs, with ${others} of the last ${rows.length} tasks`] : []),
  ]
  return judge(
    'who else buys on the account',
    says.length === 0,
    'Nobody, as far as the list says.',
    `${says.join(', and ')}. Their tasks are left alone; the balance and the limits are shared with them.`,
  )
}

/** A task that costs more than its depth by the known unit has another unit: refunds only make it cheaper. */
function describeUnits(rows: readonly Row[], client: AppDataClient): Finding {
  const dearer = new Set<string>()
  let compared = 0
  for (const row of rows) {
    const task = readPostedTask({
      url: client.dialect.toOurs(String(row.url).replace(/^https?:\/\/[^/]*/, '')),
      metadata: isObject(row.metadata) ? row.metadata : null,
    })
    const cost = readCost(row.cost)
    if (task === null || task.function === 'app_listings' || cost === null) continue
    compared += 1
    const unitMicros = findRule(task.store, task.function)?.unitCostMicros ?? 0
    const units = billingUnits(task.store, task.function, task.depth ?? 1)
    if (cost > units * unitMicros * task.priority) dearer.add(`${task.function} of ${task.store}`)
  }
  const about = 'billing units'
  if (compared === 0) return unknown(about, 'No listed task says what it was asked for and what it cost.')
  return judge(
    about,
    dearer.size === 0,
    `No one of ${compared} tasks costs more than its depth.`,
    `${[...dearer].join(', ')}: tasks cost more than the unit that storerank knows. The unit is learned ` +
      'from the first charge.',
  )
}

const POSTED = /\/v3\/app_data\/([\w-]+\/(?:app_searches|app_info|app_list|app_reviews))\/task_post$/
/** Results of that many functions of stores are looked at. */
const MOST_RESULTS = 8
/** The specification's own beginnings of the types. */
const SPECIFIED_TYPES = /^(ios|android)_store_/
/** Results can be fetched for a week. */
const FETCHABLE_MS = 6 * DAY_MS

/** @param rows of id_list, the newest first: of each store and function one finished task is fetched */
export async function checkResults(client: AppDataClient, rows: readonly Row[]): Promise<Finding[]> {
  const about = 'form of results'
  const paths = new Map<string, string>()
  for (const { url, id, datetime_done: done } of rows) {
    const [, fn] = POSTED.exec(String(url)) ?? []
    const ageMs = Date.now() - Date.parse(String(done).replace(' +00:00', 'Z'))
    if (fn !== undefined && ageMs < FETCHABLE_MS && !paths.has(fn))
      paths.set(fn, `/v3/app_data/${fn}/task_get/advanced/${String(id)}`)
  }
  const found: { result: Row; item: Row }[] = []
  for (const path of [...paths.values()].slice(0, MOST_RESULTS)) {
    const [result] = rowsIn(await ask(client, path, 'task_get').catch(toNoReply))
    if (!isObject(result) || !Array.isArray(result.items)) continue
    for (const item of result.items.filter(isObject)) found.push({ result, item })
  }
  if (found.length === 0) return [unknown(about, 'The account has no result that could be looked at.')]
  const types = [...new Set(found.map(({ item }) => String(item.type)))].sort()
  const isTyped = types.every((type) => SPECIFIED_TYPES.test(type))
  const named = `Items are ${types.join(', ')}.`
  return [
    judge(about, isTyped, named, `${named} What ends in _organic is ranked, whatever it begins with.`),
    judge(
      'fields of results',
      found.every(({ result, item }) => result.check_url !== null && item.rating !== null),
      'Each has an address to look it up, and ratings.',
      'Addresses to look them up, or ratings, are null. They are kept so.',
    ),
  ]
}

/** A result that the service refuses is none. */
function toNoReply(error: unknown): null {
  if (error instanceof RejectedError) return null
  throw error
}
