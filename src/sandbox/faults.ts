/**
 * Trouble on demand, by kind and rate. The same seed and the same order of calls give the same trouble.
 * Faults change what a caller sees and how a task ends, never the books: what was created is charged, and
 * id_list has it.
 */

import { setTimeout as delay } from 'node:timers/promises'
import type { FastifyReply } from 'fastify'
import { z } from 'zod'
import { type Code, isRecord, type TaskAnswer } from './envelope.ts'
import { fraction, hashText, mix, pick } from './hash.ts'
import { MINUTE_MS } from './timestamp.ts'

/** Faults of a whole call, in the order in which they strike: the first one wins. */
const CALL_FAULTS = {
  reset: 'The connection is reset, before or after the work.',
  lost: 'The work is done, and the connection ends without an answer.',
  http500: 'HTTP 500, before or after the work.',
  internalCode: 'HTTP 200 with 50000, 50301 or 50401, before or after the work.',
  tasksNull: 'HTTP 200 with `tasks: null` and no reason, before or after the work.',
  rateLimit: '40202; nothing was done.',
  paymentRequired: 'HTTP 402; nothing was done.',
  halfBody: 'The work is done, and the answer ends half-way.',
  notJson: 'The page of a gateway instead of JSON, before or after the work.',
  slow: 'The answer comes `ms` later (default 2,000); the work is done at the beginning or end of that time.',
}

/** Every kind of fault. Of a result it means one that is fetched or posted back. */
const FAULTS = {
  ...CALL_FAULTS,
  clockJump: 'The clock jumps ahead by `ms` (default 500) and stays there; by a minute in all.',
  insufficientFunds: 'A posted task gets 40210.',
  stuck: 'A task is created and charged, and never done.',
  storeError: 'A task ends with 40101, charged in full.',
  storeBurst:
    'A task and every other that is done within `ms` (default five minutes) ends with 40101, charged in ' +
    'full, and the envelope counts no error.',
  executionFailed: 'A task ends with 40103, charged in full.',
  nothingFound:
    'A task ends with 40501 "No Search Results.", whatever there is, and is charged for one unit.',
  duplicateRow: 'A row of the ready list stands there twice.',
  wrongId: 'A result has the id of another task.',
  otherAnswer: 'A result is all that another task of the function found, under the id that was asked for.',
  otherFailure: 'A result is the failure (40101) of another task of the same function.',
  otherField:
    'A result says in one field or its path that it is about something else, or has a second one beside ' +
    'it; each in its turn.',
  wrongPostId: 'The answer to a POST names an id that no task has; id_list is right.',
  turnedIds: 'The answer to a POST names with each task the id of the next; id_list is right.',
  strayWebhook: 'Before a webhook comes another one, with its tag in the URL and an id that no task has.',
  shortList: 'A search, a chart or reviews lacks the second half of the items that it counts.',
  brokenList:
    'A search or a chart has a hole in its ranks, an app of the other store, a rank beyond its depth, or ' +
    'more items than it counts, each in its turn.',
  shortRows: 'A ready list or id_list lacks the second half of the rows that it counts.',
  otherQuery: 'id_list is answered from a later offset on than was asked for, and says so.',
  webhookUnsent: 'A webhook is not sent and listed as failed.',
  webhookLost: 'A webhook is not sent, and the service believes that it was.',
  webhookTwice: 'A webhook is sent twice.',
  wrongCost: 'The answer to a POST says that a task cost 5,000 times what it did; id_list is right.',
  dearTask: 'A task costs ten times what the price list says.',
}
export type FaultKind = keyof typeof FAULTS
type CallFault = keyof typeof CALL_FAULTS

const CALL_KINDS = Object.keys(CALL_FAULTS) as readonly CallFault[]
export const FAULT_KINDS = Object.keys(FAULTS) as readonly FaultKind[]

/**
 * What `all` stands for. Not bursts: where one task in twenty begins one, nothing is ever done. Nor wrong
 * money, with which the books of a caller are right only when it has compared them.
 */
export const FAULTS_OF_ALL = FAULT_KINDS.filter(
  (kind) => !['storeBurst', 'wrongCost', 'dearTask'].includes(kind),
)

const Rate = z.number().min(0).max(1)
const FaultRule = z.strictObject({
  /** Share of the occasions. */
  rate: Rate.default(1),
  /** Only where the path (of a webhook: the URL) holds this text. */
  path: z.string().optional(),
  /** Strikes so many times and then no more. */
  times: z.int().positive().optional(),
  /** Before or after the call's work was done; by chance when left open. Not every kind can choose. */
  when: z.enum(['before', 'after']).optional(),
  ms: z.int().nonnegative().optional(),
})
/** A rate alone, or a rate with where, how often and how. */
const Fault = z
  .union([Rate, FaultRule])
  .transform((fault): z.output<typeof FaultRule> => (typeof fault === 'number' ? { rate: fault } : fault))
  .optional()

/** What a whole service or one of its parts may say of itself (spec: Status record). */
const Status = z
  .enum([
    ...(['ok', 'major_outage', 'partial_outage', 'long_response_time'] as const),
    ...(['long_execution_time', 'webhook_delay', 'send_delay'] as const),
  ])
  .optional()

/** Everything that may go wrong. */
export const FaultSettings = z.strictObject({
  ...(Object.fromEntries(FAULT_KINDS.map((kind) => [kind, Fault])) as Record<FaultKind, typeof Fault>),
  /** The sandbox's clock against its host's, also in the HTTP date. */
  clockOffsetMs: z.int().default(0),
  /** The instant at which the sandbox's clock stands still, also in the HTTP date; without one it goes. */
  clock: z.iso.datetime().optional(),
  /** What the status endpoint says; by itself it only notices late webhooks. */
  status: z
    .strictObject({ task_get: Status, task_post: Status, live: Status, 'postback/pingback': Status })
    .default({}),
})
export type FaultSettings = z.output<typeof FaultSettings>
export type FaultSettingsInput = z.input<typeof FaultSettings>

/** Kinds that cannot choose: a refusal proves that nothing was done, and half a body that something was. */
const FIXED: Partial<Record<FaultKind, 'before' | 'after'>> = {
  lost: 'after',
  halfBody: 'after',
  rateLimit: 'before',
  paymentRequired: 'before',
}
const SLOW_MS = 2000
const JUMP_MS = 500
const BURST_MS = 5 * MINUTE_MS
/** A clock far from that of its callers would hide from them what they have posted. */
const JUMPED_AT_MOST_MS = MINUTE_MS

/** What happens to a call. `noise` is its own. */
type Trouble = { kind: CallFault; when: 'before' | 'after'; ms: number; noise: number }

/** Reads `http500=0.05,slow=0.1`, `all=0.05`, or the JSON of FaultSettings. Throws on anything else. */
export const parseFaults = (text: string): FaultSettings => {
  if (text.trimStart().startsWith('{')) return FaultSettings.parse(JSON.parse(text))
  const pairs = text.split(',').flatMap((pair): [string, number][] => {
    const [kind = '', rate = ''] = pair.split('=').map((part) => part.trim())
    const value = rate === '' ? Number.NaN : Number(rate)
    return kind === 'all' ? FAULTS_OF_ALL.map((each) => [each, value]) : [[kind, value]]
  })
  return FaultSettings.parse(Object.fromEntries(pairs))
}

export class Faults {
  readonly #seed: number
  #settings: FaultSettings
  #jumpedMs = 0
  /** The last burst of the store. */
  #burst = { fromMs: 0, toMs: 0 }
  readonly #asked = new Map<FaultKind, number>()
  readonly #struck = new Map<FaultKind, number>()

  constructor(seed: number, settings: FaultSettings) {
    this.#seed = seed
    this.#settings = settings
  }

  get settings(): FaultSettings {
    return this.#settings
  }

  /** How often each kind has struck since the settings were last replaced. */
  get struck(): Partial<Record<FaultKind, number>> {
    return Object.fromEntries(this.#struck)
  }

  /** Where the clock stands still, in milliseconds since 1970; undefined while it goes. */
  get clockMs(): number | undefined {
    const { clock } = this.#settings
    return clock === undefined ? undefined : Date.parse(clock)
  }

  /** How far the clock is from that of the host. */
  get clockOffsetMs(): number {
    return this.#settings.clockOffsetMs + this.#jumpedMs
  }

  /** Takes other settings; counts and jumps begin anew. Chance goes on, so that rare kinds strike at all. */
  replace(settings: FaultSettings): void {
    this.#settings = settings
    this.#jumpedMs = 0
    this.#burst = { fromMs: 0, toMs: 0 }
    this.#struck.clear()
  }

  /** Whether a kind strikes on this occasion. */
  strikes(kind: FaultKind, path: string): boolean {
    const { rate = 0, path: only = '', times = Number.POSITIVE_INFINITY } = this.#settings[kind] ?? {}
    const struck = this.#struck.get(kind) ?? 0
    if (rate === 0 || !path.includes(only) || struck >= times) return false
    const asked = (this.#asked.get(kind) ?? 0) + 1
    this.#asked.set(kind, asked)
    if (fraction(this.#noise(kind, asked)) >= rate) return false
    this.#struck.set(kind, struck + 1)
    return true
  }

  /** Whether a task posted at a path and done at a moment falls into a burst of the store, or begins one. */
  isInBurst(path: string, doneAtMs: number): boolean {
    const { path: only = '', ms = BURST_MS } = this.#settings.storeBurst ?? {}
    if (path.includes(only) && doneAtMs >= this.#burst.fromMs && doneAtMs < this.#burst.toMs) return true
    if (!this.strikes('storeBurst', path)) return false
    this.#burst = { fromMs: doneAtMs, toMs: doneAtMs + ms }
    return true
  }

  /** What happens to a call; undefined when nothing does. */
  strikeCall(path: string): Trouble | undefined {
    if (this.strikes('clockJump', path)) {
      const jumpMs = this.#settings.clockJump?.ms ?? JUMP_MS
      this.#jumpedMs = Math.min(JUMPED_AT_MOST_MS, this.#jumpedMs + jumpMs)
    }
    const kind = CALL_KINDS.find((each) => this.strikes(each, path))
    if (!kind) return undefined
    const noise = mix(this.#noise(kind, this.#struck.get(kind) ?? 0), 1)
    const { when = noise % 2 === 0 ? 'before' : 'after', ms = SLOW_MS } = this.#settings[kind] ?? {}
    return { kind, when: FIXED[kind] ?? when, ms, noise }
  }

  #noise(kind: FaultKind, count: number): number {
    return mix(mix(this.#seed, hashText(kind)), count)
  }
}

// How a call that is struck is answered, down to what happens to its socket.

const INTERNAL_CODES: readonly Code[] = [50000, 50301, 50401]
const GATEWAY_PAGE = '<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>'

/** Sends a body of JSON. */
export const sendJson = (reply: FastifyReply, body: string, httpStatus = 200) =>
  reply.code(httpStatus).header('content-type', 'application/json; charset=utf-8').send(body)

const sendHalf = (reply: FastifyReply, body: string) => {
  const bytes = Buffer.from(body)
  reply.hijack()
  reply.raw.writeHead(200, { 'content-type': 'application/json', 'content-length': bytes.length })
  reply.raw.write(bytes.subarray(0, bytes.length / 2), () => reply.raw.destroy())
  return reply
}

const cut = (reply: FastifyReply, end: 'destroy' | 'resetAndDestroy') => {
  reply.hijack()
  reply.raw.socket?.[end]()
  return reply
}

/** `work` gives the body that the call should get, `refuse` one that refuses it; `closing` ends waiting. */
export const answerInTrouble = async (
  { kind, when, ms, noise }: Trouble,
  reply: FastifyReply,
  { work, refuse, closing }: { work: () => string; refuse: (code: Code) => string; closing: AbortSignal },
): Promise<FastifyReply> => {
  let body = when === 'after' ? work() : ''
  if (kind === 'slow') {
    await delay(ms, undefined, { ref: false, signal: closing }).catch(() => {})
    if (closing.aborted) return cut(reply, 'destroy')
    if (when === 'before') body = work()
  }
  const senders: Record<typeof kind, () => FastifyReply> = {
    reset: () => cut(reply, 'resetAndDestroy'),
    lost: () => cut(reply, 'destroy'),
    http500: () => sendJson(reply, refuse(50000), 500),
    internalCode: () => sendJson(reply, refuse(pick(INTERNAL_CODES, noise >>> 1))),
    tasksNull: () => sendJson(reply, refuse(20000)),
    rateLimit: () => sendJson(reply, refuse(40202)),
    paymentRequired: () => sendJson(reply, refuse(40200), 402),
    halfBody: () => sendHalf(reply, body),
    notJson: () => reply.code(200).header('content-type', 'text/html').send(GATEWAY_PAGE),
    slow: () => sendJson(reply, body),
  }
  return senders[kind]()
}

// Answers that are not true.

/** Names of each store that its fields begin with. */
const TWINS = [
  ['ios_store', 'android_store'],
  ['apple', 'google'],
  ['app_store', 'google_play'],
] as const

const ofOtherStore = (said: unknown): string => {
  const pairs = TWINS.flatMap(([one, other]) => [[one, other] as const, [other, one] as const])
  const [own = '', twin = ''] = pairs.find(([name]) => String(said).startsWith(name)) ?? []
  return String(said).replace(own, twin)
}
const addLetter = (said: unknown) => `${said}x`
const addOne = (said: unknown) => Number(said) + 1

type Part = 'data' | 'result'
/** Of a field, what was not asked for. */
const UNTRUTHS: readonly (readonly [Part, field: string, other: (said: unknown) => unknown])[] = [
  ['data', 'tag', () => 'of another program'],
  ['data', 'keyword', addLetter],
  ['data', 'app_id', addLetter],
  ['data', 'location_code', addOne],
  ['data', 'language_code', addLetter],
  ['data', 'se', ofOtherStore],
  ['data', 'function', (said) => (said === 'app_info' ? 'app_reviews' : 'app_info')],
  ['result', 'se_domain', (said) => `${/^play/.test(String(said)) ? 'apps.apple' : 'play.google'}.com`],
  ['result', 'keyword', addLetter],
  ['result', 'app_id', addLetter],
  ['result', 'location_code', addOne],
  ['result', 'language_code', addLetter],
  ['result', 'datetime', () => '2001-01-01 00:00:00 +00:00'],
]

/** The answer, with another one of its fields, its path, or a second result untrue at each turn. */
export const sayOther = (answer: TaskAnswer, turn: number): TaskAnswer => {
  const result = isRecord(answer.result?.[0]) ? answer.result[0] : {}
  const parts: Readonly<Record<Part, Record<string, unknown>>> = { data: answer.data ?? {}, result }
  const own = UNTRUTHS.filter(([part, field]) => Object.hasOwn(parts[part], field))
  const at = turn % (own.length + 2)
  const untruth = own[at]
  if (at === own.length) return { ...answer, result: [result, result] }
  if (untruth === undefined) {
    const path = ['v3', 'app_data', 'ios_store', 'app_list', 'task_get', 'advanced', answer.id]
    return { ...answer, path: answer.data.function === 'app_list' ? path.with(3, 'app_info') : path }
  }
  const [part, field, other] = untruth
  const bent = { ...parts[part], [field]: other(parts[part][field]) }
  return part === 'data' ? { ...answer, data: bent } : { ...answer, result: [bent] }
}

type Item = Readonly<Record<string, unknown>>

const isOrganic = ({ type }: Item): boolean => String(type).endsWith('_organic')

/** Whether a list has what can be broken. */
export const canBreak = (items: readonly Item[]): boolean => items.filter(isOrganic).length > 1

/**
 * A list, in turn without the app of its first rank, with an app of the other store, with a rank far beyond
 * the depth, and with more than it counts; otherwise it counts what it has.
 */
export const breakList = <R extends { items: readonly Item[] }>(result: R, turn: number): R => {
  const { items } = result
  const first = items.findIndex(isOrganic)
  const last = items.findLastIndex(isOrganic)
  const of = (list: readonly Item[]): R => ({ ...result, items: list, items_count: list.length })
  if (turn % 4 === 3) return { ...result, items_count: 1 }
  if (turn % 4 === 0) return of(items.toSpliced(first, 1))
  const item = items[last] ?? {}
  if (turn % 4 === 1) return of(items.with(last, { ...item, type: ofOtherStore(item.type) }))
  return of([...items, { ...item, app_id: `${item.app_id}1`, rank_group: 2000, rank_absolute: 2001 }])
}
