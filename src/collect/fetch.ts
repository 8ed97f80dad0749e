/** Fetches results and reads each of them into an outcome, which depends on that of no other. */
import { gzipSync } from 'node:zlib'
import {
  ConfigurationError,
  RateLimitedError,
  RejectedError,
  StorerankError,
  UnreadableError,
} from '../errors.ts'
import type { FetchItem } from '../ledger/hand-out.ts'
import type { FailedResult, LaterResult, UnreadableResult } from '../ledger/task-failures.ts'
import { OVERSIZED } from '../service/answer.ts'
import type { AppDataClient } from '../service/client.ts'
import { MAX_BODY_BYTES } from '../service/exchange.ts'
import { cutDepth } from '../service/fields.ts'
import { billingUnits, findRule, hasForm, type ResultForm } from '../service/functions.ts'
import { describeMiscount, describeRefused } from '../service/items.ts'
import {
  type AppReviewsResult,
  type InfoResult,
  parseHtmlResult,
  parseInfoResult,
  parseReviewsResult,
} from '../service/results.ts'
import { parseSearchResult, type SearchResult } from '../service/search-result.ts'
import { classifyStatus } from '../service/status-codes.ts'
import type { ResultOutcome, TaskAddress } from '../service/task-result.ts'
import { TIMINGS } from '../timings.ts'
import { type Answered, type Contradiction, findContradiction } from './contradiction.ts'

type RawPages = ReturnType<typeof readPages>['html']
export type RawPage = RawPages['pages'][number]

interface Done {
  readonly item: FetchItem
  readonly statusCode: number
  /** How many results came, by which is refunded; null where nothing says so, or nothing is billed by it. */
  readonly resultsReturned: number | null
  /** The raw pages, where they are wanted or nothing else is offered. */
  readonly html: RawPages | null
  /** Which items of it could not be read or are lacking; null when it has all. */
  readonly incomplete: string | null
  /** What the result lacks, items or wanted raw pages, as a sentence; null when it is complete. */
  readonly problem: string | null
}

export type Fetched =
  /** A search or a chart; `search` is null when the store found nothing (40102): a measurement. */
  | ({ readonly kind: 'ranking'; readonly search: SearchResult | null } & Done)
  | ({ readonly kind: 'snapshot'; readonly info: InfoResult | null } & Done)
  | ({ readonly kind: 'reviews'; readonly reviews: AppReviewsResult | null } & Done)
  /** Raw pages, where nothing else is offered. */
  | ({ readonly kind: 'pages'; readonly html: RawPages } & Done)
  | ({ readonly kind: 'failed' } & About<FailedResult>)
  /** 40101, 40103: may be posted again. */
  | ({ readonly kind: 'store_failed' } & About<FailedResult>)
  /** With a doubtful id, the answer is about another task, or the service does not know the task. */
  | ({ readonly kind: 'unreadable'; readonly isIdDoubtful?: boolean } & About<UnreadableResult>)
  | ({ readonly kind: 'later'; readonly isIdDoubtful?: boolean } & About<LaterResult>)

type About<Result> = { readonly item: FetchItem } & Omit<Result, 'serviceId'>

/** 40401 for an id that the service itself gave: asking again is free, and the task may come back. */
const TASK_NOT_FOUND = 40401
const MISSING_RESULT = 'tasks[0].result'
const WRONG_ID = 'tasks[0].id'
/** A search of 100 apps has 80 KB; titles, addresses and texts may be much longer, and in escaped letters. */
const RESULT_BYTES = 1024 * 1024
const ITEM_BYTES = 16 * 1024
const NOT_READY_PAUSE_MS = 1_000
const DAY_MS = 86_400_000
/** Beside it there is no result. */
const NOTHING_FOUND = 40102
/** The service has deleted the result. */
const EXPIRED = 40403

/**
 * Pure: why an answer holds no usable result while a later one may; null when it does, or ends the task. A
 * refusal that blames the request may pass: the task was accepted when it was posted.
 */
export function whyUnusable(fetched: Fetched): string | null {
  if (fetched.kind === 'unreadable') return fetched.problem
  if ('incomplete' in fetched) return fetched.incomplete
  if (fetched.kind !== 'failed' || fetched.statusCode === EXPIRED) return null
  return `${fetched.statusCode}: ${fetched.message}`
}

/** Pure: whether the service does not know the task under its id, or answers for another one. */
export function isIdDoubtful(fetched: Fetched): boolean {
  if (fetched.kind === 'failed') return whyUnusable(fetched) !== null
  return 'isIdDoubtful' in fetched && fetched.isIdDoubtful === true
}

/**
 * Fetches and reads results, at most `maxConcurrent` at once, from one iterator: the queue of a limit would
 * hold what they returned. What cannot be had now is deferred.
 * @param onAllBegun called when the last one is being fetched
 */
export async function fetchResults(
  client: AppDataClient,
  items: readonly FetchItem[],
  maxConcurrent: number,
  signal: AbortSignal,
  onAllBegun = () => {},
): Promise<Fetched[]> {
  const fetched = new Array<Fetched>(items.length)
  const waiting = items.entries()
  const fetchNext = async () => {
    for (const [index, item] of waiting) {
      signal.throwIfAborted()
      if (index === items.length - 1) onAllBegun()
      fetched[index] = await fetchOne(client, item)
    }
  }
  await Promise.all(Array.from({ length: Math.min(maxConcurrent, items.length) }, fetchNext))
  return fetched
}

/**
 * The order of the fetch jobs of a process: one begins when all results of the one before are being fetched,
 * so that it is fetched while that one is stored.
 * @returns runs one job in its turn; `fetch` calls its argument when the next one may begin
 */
export function createFetchOrder(): <T>(fetch: (onAllBegun: () => void) => Promise<T>) => Promise<T> {
  let last: Promise<void> = Promise.resolve()
  return async (fetch) => {
    const before = last
    const { promise, resolve } = Promise.withResolvers<void>()
    last = promise
    await before
    return fetch(resolve).finally(resolve)
  }
}

/** A result with which each process ended that read it: that is an answer that cannot be used. */
export function setAside(item: FetchItem): Fetched {
  const problem = 'Each process that read the result ended meanwhile: it is set aside for a while.'
  return { kind: 'unreadable', item, path: OVERSIZED, problem, bodyGzip: compressBody(null) }
}

/** The result, and the raw pages beside it where they are wanted. */
async function fetchOne(client: AppDataClient, item: FetchItem): Promise<Fetched> {
  try {
    const address = item.path ?? addressOf(item, item.kind)
    const fetched = await client.getResult(
      address,
      (outcome) => readOutcome(item, outcome),
      resultBytes(item),
    )
    const wantsPages = item.html && item.kind !== 'html'
    return wantsPages && 'html' in fetched && fetched.kind !== 'pages'
      ? await addPages(client, fetched)
      : fetched
  } catch (error) {
    if (!(error instanceof StorerankError)) throw error
    // A task that was asked for by id may have raw pages only, which a ready list would have said.
    const mayBeHtml =
      item.path === null && item.kind === 'advanced' && hasForm(item.store, item.function, 'html')
    if (error instanceof RejectedError && mayBeHtml) return fetchOne(client, { ...item, kind: 'html' })
    return readFailure(item, error)
  }
}

/** Pure: the outcome of a task whose answer could not be had or read. */
function readFailure(item: FetchItem, error: StorerankError): Fetched {
  if (error instanceof UnreadableError && [MISSING_RESULT, OVERSIZED].includes(error.path)) {
    const { path, message: problem } = error
    return { kind: 'unreadable', item, path, problem, bodyGzip: compressBody(null) }
  }
  // An answer for another task, or trouble on the way, says nothing about this task: it is deferred.
  const pauseMs = error instanceof RateLimitedError ? error.retryAfterMs : TIMINGS.troublePauseMs
  return { kind: 'later', item, problem: error.message, pauseMs }
}

/** A body that could not be read, as it is kept: one may have 32 MiB. What is nested too deep is cut off. */
export function compressBody(body: unknown): Buffer {
  return gzipSync(JSON.stringify(cutDepth(body)) ?? 'null')
}

/** The largest answer that a result of the depth can be; raw pages have no such measure. */
export function resultBytes({ kind, depth }: Pick<FetchItem, 'kind' | 'depth'>): number {
  return kind === 'html' ? MAX_BODY_BYTES : Math.min(MAX_BODY_BYTES, RESULT_BYTES + (depth ?? 1) * ITEM_BYTES)
}

function addressOf({ store, function: fn, serviceId }: FetchItem, form: ResultForm): TaskAddress {
  return { store, fn, id: serviceId, form }
}

/** Adds the raw pages to a result. It waits for pages that cannot be had now, and says why it has none. */
async function addPages(
  client: AppDataClient,
  fetched: Extract<Fetched, { kind: 'ranking' | 'snapshot' | 'reviews' }>,
): Promise<Fetched> {
  const { item } = fetched
  const without = (reason: string): Fetched => {
    const lack = `The raw pages that were asked for cannot be had: ${reason}`
    return { ...fetched, problem: joinSentences(fetched.incomplete, lack) }
  }
  try {
    const outcome = await client.getResult(item.htmlPath ?? addressOf(item, 'html'))
    if (outcome.kind === 'pending') {
      return { kind: 'later', item, problem: 'The raw pages are not ready yet.', pauseMs: NOT_READY_PAUSE_MS }
    }
    if (outcome.kind === 'failed') return without(`${outcome.statusCode}: ${outcome.message}`)
    const contradiction = findContradiction(item, outcome)
    if (contradiction !== null) return without(contradiction.problem)
    if (outcome.result === null) return fetched
    const { html, incomplete } = readPages(outcome.result)
    return { ...fetched, html, problem: joinSentences(fetched.problem, incomplete) || null }
  } catch (error) {
    if (isFinal(error)) return without(error.message)
    throw error
  }
}

function isFinal(error: unknown): error is Error {
  if (error instanceof UnreadableError) return error.path !== WRONG_ID
  return error instanceof RejectedError || error instanceof ConfigurationError
}

/** Pure: the outcome of a task by its answer. */
export function readOutcome(item: FetchItem, outcome: ResultOutcome): Fetched {
  switch (outcome.kind) {
    case 'pending':
      return { kind: 'later', item, problem: null, pauseMs: NOT_READY_PAUSE_MS }
    case 'failed':
      return readFailed(item, outcome)
    case 'done': {
      const contradiction = findContradiction(item, outcome)
      if (contradiction !== null) return refuse(item, outcome, contradiction)
      try {
        return readDone(item, outcome.statusCode, outcome.result)
      } catch (error) {
        // Reading is pure, so an error is about this one result: it must not fail the batch.
        const path = error instanceof UnreadableError ? error.path : MISSING_RESULT
        const problem = error instanceof Error ? error.message : String(error)
        return { ...refuse(item, outcome, { path, problem }), isIdDoubtful: false }
      }
    }
  }
}

function readFailed(item: FetchItem, outcome: Extract<ResultOutcome, { kind: 'failed' }>): Fetched {
  const { statusCode, message, echo, path } = outcome
  if (statusCode === TASK_NOT_FOUND) {
    return { kind: 'later', item, problem: `${statusCode}: ${message}`, pauseMs: DAY_MS, isIdDoubtful: true }
  }
  const answered = { echo, path, result: null, results: 0, answeredAt: null }
  const contradiction = findContradiction(item, answered)
  if (contradiction !== null) return refuse(item, answered, contradiction)
  const kind = classifyStatus(statusCode) === 'store_failed' ? 'store_failed' : 'failed'
  return { kind, item, statusCode, message }
}

/** An answer that is not about the task, with what it holds. */
function refuse(item: FetchItem, { result }: Answered, { path, problem }: Contradiction) {
  const bodyGzip = compressBody(result)
  return { kind: 'unreadable', item, path, problem, bodyGzip, isIdDoubtful: true } as const
}

function readDone(item: FetchItem, statusCode: number, result: unknown): Fetched {
  const done = { item, statusCode, resultsReturned: null, html: null }
  if (statusCode === NOTHING_FOUND && result !== null)
    throw new UnreadableError('The answer says that nothing was found, and has items.', 'result.items')
  if (item.kind === 'html' && result !== null) {
    const { html, incomplete } = readPages(result)
    // Pages do not say how many results they hold, so no refund is known.
    return { ...done, kind: 'pages', html, incomplete, problem: incomplete }
  }
  /** The service bills what it returned: items of every type, and an app twice that it names twice. */
  const countReturned = (
    read: Pick<SearchResult, 'itemsCount' | 'refused'> | null,
    ...lacking: readonly (string | null)[]
  ) => {
    const refused = read === null ? null : describeRefused(read.refused, read.itemsCount)
    const incomplete = joinSentences(refused, ...lacking) || null
    return { ...done, resultsReturned: read?.itemsCount ?? 0, incomplete, problem: incomplete }
  }
  switch (item.function) {
    case 'app_searches':
    case 'app_list': {
      if (result === null) return { ...countReturned(null), kind: 'ranking', search: null }
      const sent = withinPresent(parseSearchResult(result, item.store))
      const { search, beyond } = cutAtDepth(item, sent)
      return { ...countReturned(search, beyond ?? search.shortfall), kind: 'ranking', search }
    }
    case 'app_info': {
      const info = result === null ? null : withinPresent(parseInfoResult(result, item.asked?.subject))
      const incomplete = info?.shortfall ?? null
      return { ...done, kind: 'snapshot', info, incomplete, problem: incomplete }
    }
    case 'app_reviews': {
      const reviews = result === null ? null : withinPresent(parseReviewsResult(result, item.store))
      return { ...countReturned(reviews, reviews?.shortfall ?? null), kind: 'reviews', reviews }
    }
  }
}

/** A rank that was not paid for is of another list. The service may fill up the last billing unit. */
function cutAtDepth({ store, function: fn, depth }: FetchItem, search: SearchResult) {
  const { apps, absolute } = search
  const end = billingUnits(store, fn, depth ?? 0) * (findRule(store, fn)?.billingUnitResults ?? 0)
  if (depth === null || apps.length <= end) return { search, beyond: null }
  const last = apps.findLastIndex((app, index) => app !== null && index < end) + 1
  const beyond =
    `The answer has rank ${apps.length}, and ${depth} ranks were asked for: it may not be the list that ` +
    'was asked for.'
  const within = { apps: apps.slice(0, last), absolute: absolute?.slice(0, last) ?? null }
  return { search: { ...search, ...within }, beyond }
}

/** The store's own pages, compressed at once: each has about a megabyte, and a batch hundreds. */
function readPages(result: unknown) {
  const { datetime, items, itemsCount, refused } = withinPresent(parseHtmlResult(result))
  const pages = items.map(({ date, html }) => ({ scannedAt: date, htmlGzip: gzipSync(html) }))
  const sent = items.length + refused.length
  return {
    html: { datetime, pages },
    incomplete: describeRefused(refused, sent) ?? describeMiscount(sent, itemsCount),
  }
}

/** Clocks differ by hours at most. A time of capture more than a day ahead is taken for unknown. */
function withinPresent<T extends { readonly datetime: Date | null }>(read: T): T {
  const isAhead = (read.datetime?.getTime() ?? 0) > Date.now() + DAY_MS
  return isAhead ? { ...read, datetime: null } : read
}

function joinSentences(...sentences: readonly (string | null)[]): string {
  return sentences.filter((sentence) => sentence !== null).join(' ')
}
