/** Fetching: one answer becomes one outcome, and an outcome of one task never disturbs another's. */
import pLimit from 'p-limit'
import { RateLimitedError, StorerankError, UnreadableError } from '../errors.ts'
import type { AppDataClient } from '../service/client.ts'
import { billingUnits } from '../service/functions.ts'
import { type HtmlResult, parseHtmlResult } from '../service/html-result.ts'
import { type InfoResult, parseInfoResult, parseSearchResult, type SearchResult } from '../service/results.ts'
import { classifyStatus } from '../service/status-codes.ts'
import type { ResultOutcome } from '../service/task-result.ts'
import type { FetchItem } from './hand-out.ts'

interface Done {
  readonly item: FetchItem
  readonly statusCode: number
  /** Billing units of the depth asked, and of the organic results that came. */
  readonly unitsPosted: number
  readonly unitsReturned: number
}

export type Fetched =
  /** `search` is null when the store found nothing (40102): a measurement. */
  | ({ readonly kind: 'ranking'; readonly search: SearchResult | null } & Done)
  | ({ readonly kind: 'snapshot'; readonly info: InfoResult | null } & Done)
  /** Raw pages, where nothing else is offered. */
  | ({ readonly kind: 'pages'; readonly html: HtmlResult } & Done)
  | {
      readonly kind: 'failed'
      readonly item: FetchItem
      readonly statusCode: number
      readonly message: string
    }
  /** 40101: may be posted again. */
  | {
      readonly kind: 'store_failed'
      readonly item: FetchItem
      readonly statusCode: number
      readonly message: string
    }
  | {
      readonly kind: 'unreadable'
      readonly item: FetchItem
      readonly path: string
      readonly problem: string
      readonly body: unknown
    }
  | {
      readonly kind: 'later'
      readonly item: FetchItem
      readonly problem: string | null
      readonly pauseMs: number
    }

/** 40401 for an id that the service gave us: asking is free, and it may come back. */
const TASK_NOT_FOUND = 40401
const MISSING_RESULT = 'tasks[0].result'
const NOT_READY_PAUSE_MS = 1_000
const TROUBLE_PAUSE_MS = 60_000
const DAY_MS = 86_400_000

/** Fetches and reads results, at most `maxConcurrent` at once. What cannot be had now is put off, whatever the reason. */
export function fetchResults(
  client: AppDataClient,
  items: readonly FetchItem[],
  maxConcurrent: number,
  signal: AbortSignal,
): Promise<Fetched[]> {
  const limit = pLimit(maxConcurrent)
  return limit.map(items, async (item) => {
    signal.throwIfAborted()
    return fetchOne(client, item)
  })
}

async function fetchOne(client: AppDataClient, item: FetchItem): Promise<Fetched> {
  try {
    const address = item.path ?? { store: item.store, fn: item.function, id: item.serviceId }
    return readOutcome(item, await client.getResult(address))
  } catch (error) {
    if (!(error instanceof StorerankError)) throw error
    // Done, and without a result for good (spec: States and transitions): it fails, and will not be asked for again.
    if (error instanceof UnreadableError && error.path === MISSING_RESULT) {
      return { kind: 'unreadable', item, path: error.path, problem: error.message, body: null }
    }
    // An answer for another task, or trouble on the way, says nothing of this one: it stays open.
    const pauseMs = error instanceof RateLimitedError ? error.retryAfterMs : TROUBLE_PAUSE_MS
    return { kind: 'later', item, problem: error.message, pauseMs }
  }
}

/** Pure: what an answer means for its task. */
export function readOutcome(item: FetchItem, outcome: ResultOutcome): Fetched {
  switch (outcome.kind) {
    case 'pending':
      return { kind: 'later', item, problem: null, pauseMs: NOT_READY_PAUSE_MS }
    case 'failed': {
      const { statusCode, message } = outcome
      if (statusCode === TASK_NOT_FOUND) {
        return { kind: 'later', item, problem: `${statusCode}: ${message}`, pauseMs: DAY_MS }
      }
      const kind = classifyStatus(statusCode) === 'store_failed' ? 'store_failed' : 'failed'
      return { kind, item, statusCode, message: `${statusCode}: ${message}` }
    }
    case 'done':
      return readDone(item, outcome.statusCode, outcome.result)
  }
}

function readDone(item: FetchItem, statusCode: number, result: unknown): Fetched {
  try {
    const unitsPosted = billingUnits(item.store, item.function, item.depth ?? 1)
    if (item.kind === 'html' && result !== null) {
      // Pages do not say how many results they hold, so no refund is known.
      return {
        kind: 'pages',
        item,
        statusCode,
        html: parseHtmlResult(result),
        unitsPosted,
        unitsReturned: unitsPosted,
      }
    }
    if (item.function === 'app_info') {
      const info = result === null ? null : parseInfoResult(result)
      return { kind: 'snapshot', item, statusCode, info, unitsPosted, unitsReturned: 1 }
    }
    const search = result === null ? null : parseSearchResult(result)
    const returned = billingUnits(item.store, item.function, search?.items.length ?? 0)
    return {
      kind: 'ranking',
      item,
      statusCode,
      search,
      unitsPosted,
      unitsReturned: Math.min(returned, unitsPosted),
    }
  } catch (error) {
    if (!(error instanceof UnreadableError)) throw error
    return { kind: 'unreadable', item, path: error.path, problem: error.message, body: result }
  }
}
