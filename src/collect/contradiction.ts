/**
 * Pure: whether an answer is about what was asked. All that it says of itself has to agree; what it does not
 * say, or what cannot be read, contradicts nothing.
 */
import type { FetchItem } from '../ledger/hand-out.ts'
import { parseTag } from '../ledger/tag.ts'
import { storeOfName } from '../service/dialect.ts'
import { cleanText, formatTimestamp, isObject, readCode, readTimestamp } from '../service/fields.ts'
import { NEWEST_FIRST, SERVICE_FUNCTIONS, type Store } from '../service/functions.ts'
import { isSameKeyword, splitCategory } from '../service/subject.ts'
import type { ResultOutcome } from '../service/task-result.ts'

/** What an answer says of itself. */
export type Answered = Pick<
  Extract<ResultOutcome, { kind: 'done' }>,
  'echo' | 'path' | 'result' | 'results' | 'answeredAt'
>

export interface Contradiction {
  /** The field that contradicts, such as `data.keyword` or `result.keyword`. */
  readonly path: string
  /** A sentence that names the field, what it says and what was asked. */
  readonly problem: string
}

/** What a field has to say, and whether a value says something else. */
interface Rule {
  readonly asked: string | number
  readonly isOther: (said: unknown) => boolean
}

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const MAX_SHOWN = 200

/** The first thing that an answer says of itself and that is not what was asked; null when there is none. */
export function findContradiction(item: FetchItem, answered: Answered): Contradiction | null {
  const { asked } = item
  if (asked === undefined) return null
  const rules = Object.entries(rulesOf(item, asked))
  const parts = { path: readPath(answered.path), data: answered.echo, result: answered.result }
  for (const [part, said] of Object.entries(parts)) {
    if (!isObject(said)) continue
    const found = rules.find(([field, rule]) => rule.isOther(said[field]))
    if (found !== undefined) return contradict(`${part}.${found[0]}`, said[found[0]], found[1].asked)
  }
  if (answered.results > 1) {
    const counted = `The answer has ${answered.results} results`
    return { path: 'result[1]', problem: `${counted}: which of them is that of the task is not known.` }
  }
  return findOldCapture(asked.ageMs, answered)
}

/** `…/app_data/{store}/{function}/task_get/{form}/{id}`, which a delivered answer need not have. */
function readPath(path: unknown): Readonly<Record<string, unknown>> | null {
  if (!Array.isArray(path)) return null
  const [se, name, call, , id] = path.slice(path.indexOf('app_data') + 1)
  return call === 'task_get' ? { se, function: name, id } : null
}

type Asked = NonNullable<FetchItem['asked']>

/** By the names of the fields on the wire. What is beyond a smaller depth would not be in the answer. */
function rulesOf(item: FetchItem, asked: Asked): Readonly<Record<string, Rule>> {
  const category = splitCategory(asked.category)
  const sameFunction = unlike(
    item.function,
    (said) => SERVICE_FUNCTIONS.find((name) => name === said) ?? null,
  )
  return {
    tag: {
      asked: `${asked.taskId}.${asked.attempt}`,
      isOther: (said) => typeof said === 'string' && said !== '' && !isTagOf(asked, said),
    },
    id: unlike(item.serviceId, (said) => (typeof said === 'string' ? said : null)),
    api: exactly('app_data'),
    function: sameFunction,
    // Of reviews and raw pages; those of a search say "organic".
    type: sameFunction,
    se: unlike(item.store, storeOfName),
    se_domain: unlike(item.store, storeOfDomain),
    ...subjectRules(item, asked.subject),
    ...(category.category !== undefined && { app_category: exactly(category.category) }),
    ...(category.ageRating !== undefined && { age_rating: exactly(category.ageRating) }),
    location_code: unlike(asked.locationCode, readCode),
    language_code: exactly(asked.languageCode),
    depth: {
      asked: item.depth ?? 0,
      isOther: (said) => (readCode(said) ?? Number.POSITIVE_INFINITY) < (item.depth ?? 0),
    },
  }
}

/** @param read what a value says; null: nothing */
function unlike<T extends string | number>(asked: T, read: (said: unknown) => T | null): Rule {
  return { asked, isOther: (said) => (read(said) ?? asked) !== asked }
}

function exactly(asked: string): Rule {
  return unlike(asked, (said) => {
    const text = Number.isSafeInteger(said) ? String(said) : said
    return typeof text === 'string' && text !== '' ? text : null
  })
}

function storeOfDomain(said: unknown): Store | null {
  if (typeof said !== 'string') return null
  if (/(^|\.)apple\.com$/.test(said)) return 'ios_store'
  return /(^|\.)google\.com$/.test(said) ? 'android_store' : null
}

function subjectRules({ store, function: fn }: FetchItem, subject: string): Readonly<Record<string, Rule>> {
  switch (fn) {
    case 'app_searches':
      return {
        keyword: {
          asked: subject,
          isOther: (said) => typeof said === 'string' && said !== '' && !isSameKeyword(said, subject),
        },
      }
    case 'app_list':
      // The result of a chart has its collection as `keyword`.
      return { app_collection: exactly(subject), keyword: exactly(subject) }
    case 'app_info':
      return { app_id: exactly(subject) }
    case 'app_reviews':
      return { app_id: exactly(subject), sort_by: exactly(NEWEST_FIRST[store]) }
  }
}

function isTagOf({ taskId, attempt }: Asked, said: string): boolean {
  const tag = parseTag(said)
  return tag !== null && tag.taskId === taskId && tag.attempt === attempt
}

/**
 * A store that was asked long before the task was sent was asked for another one. Each age is by one clock:
 * the task's by the database's, the answer's by the service's, else ours. Clocks may be hours apart.
 */
function findOldCapture(taskAgeMs: number, { result, answeredAt }: Answered): Contradiction | null {
  const captured = isObject(result) ? readTimestamp(result.datetime) : null
  if (captured === null) return null
  const answerAgeMs = (answeredAt ?? new Date()).getTime() - captured.getTime()
  const longMs = answeredAt === null ? DAY_MS : HOUR_MS
  if (answerAgeMs <= taskAgeMs + longMs) return null
  const sentAt = formatTimestamp(new Date(captured.getTime() + answerAgeMs - taskAgeMs))
  const problem =
    `The answer is older than the task: its result.datetime is ${formatTimestamp(captured)}, and the ` +
    `task was sent at ${sentAt} by the same clock.`
  return { path: 'result.datetime', problem }
}

function contradict(path: string, said: unknown, asked: string | number): Contradiction {
  const shown = cleanText(String(said), MAX_SHOWN)
  return {
    path,
    problem: `The answer is about something else: its ${path} is "${shown}", and "${asked}" was asked for.`,
  }
}
