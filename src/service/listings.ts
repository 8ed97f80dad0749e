/** The search in listings: a paid call that is answered at once (docs/service.md: search in listings). */

import { z } from 'zod'
import type { Envelope } from './answer.ts'
import {
  optionalCount,
  optionalUrl,
  PLACE,
  readWith,
  toWireRecord,
  wireRecord,
  wireText,
  wireTimestamp,
} from './fields.ts'
import { LISTING_SEARCH, type Store } from './functions.ts'
import { readItems } from './items.ts'
import { callOnce } from './post-tasks.ts'
import { checkRequest, rowOffset, wholeUpTo } from './requests.ts'
import { parseListedApp } from './results.ts'
import { classifyStatus } from './status-codes.ts'
import type { SendWindow, Transport } from './transport.ts'

/** What a search in listings found. */
export type ListingSearchResult = ReturnType<typeof parseListingResult>
/** One listing: an app as its page was read last. */
export type Listing = ReturnType<typeof readListing>

/**
 * `done`; `failed`: the service refused this search by a code of its own, and charged nothing; or as a POST
 * of tasks has it.
 */
export type ListingOutcome = Awaited<ReturnType<typeof searchListings>>

/** Prices of the service as it is sold; below them nothing is reserved. */
export const LISTING_PRICES = { callMicros: 10_000, resultMicros: 100 } as const
export const DEFAULT_LISTINGS = 100

function wordsUpTo(characters: number) {
  const rule = `must be text of 1 to ${characters} characters`
  return z.string(rule).min(1, rule).max(characters, rule)
}

function listUpTo(length: number) {
  const rule = `must be 1 to ${length} texts`
  return z.array(z.string(rule), rule).min(1, rule).max(length, rule).readonly().optional()
}

const query = z.object({
  /** Ours, never used twice. */
  tag: wordsUpTo(255),
  title: wordsUpTo(200).optional(),
  description: wordsUpTo(200).optional(),
  /** By the names of `listListingCategories`. */
  categories: listUpTo(10),
  /** At most 8, such as `['item.rating.value', '>', 4]`, with `and` or `or` between. */
  filters: z.array(z.unknown()).readonly().optional(),
  /** Such as `item.installs_count,desc`. */
  orderBy: listUpTo(3),
  /** Listings to give: they are what costs. Default 100. */
  limit: wholeUpTo(1000),
  /** Listings to skip. Default 0. */
  offset: rowOffset,
  /** As the answer before it gave it, to go on behind many. */
  offsetToken: z.string().optional(),
})

/** What is searched for; at least nothing, which is every listing. */
export type ListingQuery = z.input<typeof query>

/** @throws ConfigurationError for a query that breaks a rule, before anything is sent */
export async function searchListings(
  transport: Transport,
  store: Store,
  asked: ListingQuery,
  send: SendWindow,
) {
  const path = `/v3/app_data/${store}/${LISTING_SEARCH}/search/live`
  checkRequest(query, asked, `POST ${path}`)
  const answer = await callOnce(transport, path, [toWireRecord(asked)], send)
  return 'kind' in answer ? answer : readOutcome(answer, asked.tag)
}

/** What an answer with HTTP 200 says of its one task. */
function readOutcome(envelope: Envelope, tag: string | undefined) {
  const [task] = envelope.tasks
  if (task !== undefined && task.tag !== null && task.tag !== tag)
    return unknown('it is about something else')
  const { statusCode, message } = task ?? envelope
  const call = { statusCode, httpStatus: 200 }
  switch (classifyStatus(statusCode)) {
    case 'ok':
    case 'no_results': {
      const { id: serviceId = null, costMicros, result } = task ?? {}
      if (serviceId === null) return unknown('the answer has no id')
      const [found = null] = Array.isArray(result) ? result : []
      return {
        ...{ kind: 'done' as const, serviceId, ...call },
        /** Null where it says nothing or 0, as in a POST of tasks: the estimate stands in. */
        costMicros: costMicros || null,
        /** `result[0]` as sent, which `parseListingResult` reads. */
        result: found as unknown,
      }
    }
    case 'rejected':
    case 'money':
    case 'account':
    case 'rate_limited':
    case 'too_many_at_once':
      // Such as a task of a POST: a refusal that costs something contradicts itself.
      if ((task?.costMicros ?? 0) > 0) return unknown(`a refusal with a cost, ${statusCode}`)
      return { kind: 'failed' as const, message, ...call }
    default:
      return unknown(`${statusCode} ${message}`)
  }
}

function unknown(reason: string) {
  return { kind: 'unknown', reason, httpStatus: 200 } as const
}

const page = wireRecord({
  totalCount: optionalCount,
  count: optionalCount,
  offset: optionalCount,
  /** With it a search goes on behind this answer; null at the end. */
  offsetToken: wireText(10_000),
  items: z.array(z.unknown()).nullish(),
})

const listing = wireRecord({
  ...PLACE,
  checkUrl: optionalUrl,
  timeUpdate: wireTimestamp,
  item: z.unknown(),
})

/**
 * Reads `result[0]` of a search in listings; null is an empty result.
 * @throws UnreadableError with the path of the field that breaks the contract
 */
export function parseListingResult(result: unknown) {
  const { items, ...head } = readWith(page, result ?? {})
  return { ...head, ...readItems(items ?? [], readListing) }
}

function readListing(value: unknown, index: number) {
  const { item: sent, ...place } = readWith(listing, value, ['items', index])
  const item = parseListedApp(sent, ['items', index, 'item'])
  return {
    appId: item.appId,
    ...place,
    item,
  }
}
