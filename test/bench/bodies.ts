/**
 * The answer to a search of 100 apps, as the sandbox makes it: what a service on loopback gives without
 * making it anew.
 */
import { showResult } from '../../src/sandbox/fetching.ts'
import { findOffer, resultPath } from '../../src/sandbox/offers.ts'
import { Options } from '../../src/sandbox/options.ts'
import { openService } from '../../src/sandbox/service.ts'
import type { Task } from '../../src/sandbox/tasks.ts'

/** A task of ios_store/app_searches in the United States, in English. */
export interface Delivery {
  readonly id: string
  readonly tag: string
  readonly keyword: string
}

const DEPTH = 100
/** Rankings of the sandbox change by day. */
const DONE_AT_MS = Date.now()
/** Words of which the sandbox's store has more than a hundred apps in every three. */
const WORDS = 'yoga math game music photo running fitness learn video budget puzzle language'.split(' ')

const service = openService(Options.parse({}), Date.now)

/** 220 keywords, each with a hundred apps at least. */
export function listKeywords(): string[] {
  return WORDS.flatMap((first, place) =>
    WORDS.slice(place + 1).flatMap((second, gap) =>
      WORDS.slice(place + gap + 2).map((third) => `${first} ${second} ${third}`),
    ),
  )
}

/** The whole answer of task_get/advanced. */
function makeBody({ id, tag, keyword }: Delivery): string {
  const question = {
    store: 'ios_store',
    function: 'app_searches',
    subject: keyword,
    locationCode: 2840,
    languageCode: 'en',
    depth: DEPTH,
    doneAtMs: DONE_AT_MS,
  } as const
  const task: Task = {
    ...question,
    id,
    priority: 1,
    postedAtMs: DONE_AT_MS,
    costMicros: 1200,
    results: service.answers.count(question),
    refundMicros: 0,
    parameters: { keyword, location_code: 2840, language_code: 'en', depth: DEPTH, tag },
    isFetched: false,
    isHeld: true,
    due: ['postback_url'],
  }
  if (task.results !== DEPTH) throw new Error(`The store has ${task.results} results of "${keyword}".`)
  const path = resultPath(findOffer(service.offers, task), id, 'advanced')
  return service.envelope.wrapTasks(path, [showResult(service, task, 'advanced')], 1)
}

/** The body of a keyword, cut where its id (twice) and its tag stand. */
export function makeParts(keyword: string): Buffer[] {
  const body = makeBody({ id: '@id@', tag: '@tag@', keyword })
  return body.split(/@id@|@tag@/).map((part) => Buffer.from(part))
}

/** Bodies of the same keywords again and again: of each keyword only one is made as the sandbox does it. */
export function createBodies(): (delivery: Delivery) => Buffer {
  const templates = new Map<string, Buffer[]>()
  return ({ id, tag, keyword }) => {
    const parts = templates.get(keyword) ?? makeParts(keyword)
    templates.set(keyword, parts)
    const between = [id, id, tag].map((text) => Buffer.from(text))
    return Buffer.concat(parts.flatMap((part, index) => [part, between[index] ?? Buffer.alloc(0)]))
  }
}
