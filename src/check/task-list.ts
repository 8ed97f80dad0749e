/**
 * What the service's list of the account's tasks (id_list) looks like: it is the proof of what was bought.
 * And who else buys on the account.
 */
import { parseTag } from '../ledger/tag.ts'
import type { AppDataClient } from '../service/client.ts'
import { isObject, readCost } from '../service/fields.ts'
import {
  billingUnits,
  findRule,
  type Priority,
  type ServiceFunction,
  type Store,
} from '../service/functions.ts'
import { readPostedTask } from '../service/posted-task.ts'
import { formatInstant } from '../service/requests.ts'
import type { Reply } from '../service/transport.ts'
import { type CheckedService, rowsIn } from './checked-service.ts'
import { differs, type Finding, holds, unknown } from './finding.ts'

const DAY_MS = 86_400_000
/** Tags are listed for a month. */
const DAYS = 27
const ROWS = 1000
/** A second may end between the question and its answer. */
const ATTEMPTS = 3
/** Times of the list are whole seconds: this is earlier than the present. */
const EARLIER_MS = 1000
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

export interface ListedTasks {
  readonly findings: readonly Finding[]
  /** The raw rows, the newest first. */
  readonly rows: readonly Record<string, unknown>[]
}

export async function checkTaskList({ client, installation }: CheckedService): Promise<ListedTasks> {
  const edge = await checkEdge(client)
  const present = await client.readServiceTime()
  const reply = await askList(client, new Date(present.getTime() - EARLIER_MS), ROWS)
  const rows = rowsIn(reply).filter(isObject)
  const about = 'form of id_list'
  if (rows.length === 0) {
    return { rows, findings: [edge, unknown(about, `The account has no task of the last ${DAYS} days.`)] }
  }
  const findings = [
    edge,
    describeUrls(rows),
    describeIds(rows),
    describeStatus(rows),
    describeMetadata(rows),
    describePrograms(rows, installation),
    ...describeUnits(rows, client),
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
    const isTaken = statusCode < 40000 || statusCode === 40102
    if (!isTaken) {
      return differs(
        about,
        "Its range must end before the service's present.",
        'It ends some seconds earlier; what happened since is seen by the next look.',
      )
    }
    if (answeredAt?.getTime() === to.getTime())
      return holds(about, "Its range may end in the service's present.")
  }
  return unknown(about, 'The service answered too slowly to tell.')
}

function describeUrls(rows: readonly Record<string, unknown>[]): Finding {
  const about = 'address of a listed task'
  return rows.some(({ url }) => /^https?:/.test(String(url)))
    ? differs(about, 'It has the host.', 'The path is read out of it.')
    : holds(about, 'It is a path.')
}

function describeIds(rows: readonly Record<string, unknown>[]): Finding {
  const about = 'ids of tasks'
  return rows.every(({ id }) => UUID.test(String(id)))
    ? holds(about, 'They are UUIDs.')
    : differs(about, 'They are no UUIDs.', 'Ids are taken as they are.')
}

function describeStatus(rows: readonly Record<string, unknown>[]): Finding {
  const about = 'status of a listed task'
  return rows.every(({ status }) => /^\d{5}$/.test(String(status)))
    ? holds(about, 'It is a code.')
    : differs(about, 'It is a message.', 'The result itself says how a task ended.')
}

function describeMetadata(rows: readonly Record<string, unknown>[]): Finding {
  const about = 'parameters of a listed task'
  return rows.every(({ metadata }) => isObject(metadata))
    ? holds(about, 'They are listed, with the tag.')
    : differs(
        about,
        'Some tasks are listed without them.',
        'A task without its tag is taken for one of others.',
      )
}

/** By the tags: those of this database, of another storerank, and of other programs. */
function describePrograms(rows: readonly Record<string, unknown>[], installation: string): Finding {
  const about = 'who else buys on the account'
  const tags = rows.map(({ metadata }) => (isObject(metadata) ? parseTag(String(metadata.tag ?? '')) : null))
  const installations = new Set(tags.flatMap((tag) => tag?.origin?.installation ?? []))
  installations.delete(installation)
  const others = tags.filter((tag) => tag === null).length
  if (installations.size === 0 && others === 0) return holds(about, 'Nobody, as far as the list says.')
  const says = [
    ...(installations.size > 0 ? [`${installations.size} other databases of storerank`] : []),
    ...(others > 0 ? [`other programs, with ${others} of the last ${rows.length} tasks`] : []),
  ]
  return differs(
    about,
    `${says.join(', and ')}.`,
    'Their tasks are left alone; the balance and the limits are shared with them.',
  )
}

/**
 * A task that costs more than its depth by the known unit has another unit. A refund only makes one cheaper.
 */
function describeUnits(rows: readonly Record<string, unknown>[], client: AppDataClient): Finding[] {
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
    if (cost > expectedMicros({ ...task, function: task.function }))
      dearer.add(`${task.function} of ${task.store}`)
  }
  const about = 'billing units'
  if (compared === 0) return [unknown(about, 'No listed task says what it was asked for and what it cost.')]
  if (dearer.size === 0) return [holds(about, `No one of ${compared} tasks costs more than its depth.`)]
  return [
    differs(
      about,
      `${[...dearer].join(', ')}: tasks cost more than the unit that storerank knows.`,
      'The unit is learned from the first charge.',
    ),
  ]
}

interface Priced {
  readonly store: Store
  readonly function: ServiceFunction
  readonly depth: number | null
  readonly priority: Priority
}

function expectedMicros({ store, function: fn, depth, priority }: Priced): number {
  const unitMicros = findRule(store, fn)?.unitCostMicros ?? 0
  return billingUnits(store, fn, depth ?? 1) * unitMicros * priority
}
