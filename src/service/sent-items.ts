/**
 * The items of a search as they stand in the text of an answer. Most of a search of 100 apps are texts of
 * apps that are known already: a regular expression finds the rank and the app of each item in a third of the
 * time in which `JSON.parse` makes an object of each.
 */
import { randomUUID } from 'node:crypto'
import { isObject } from './fields.ts'

const STRING = String.raw`"[^"\\\x00-\x1f]*(?:\\(?:["\\/bfnrt]|u[\da-fA-F]{4})[^"\\\x00-\x1f]*)*"`
const NUMBER = String.raw`-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?`
const SCALAR = `(?:${STRING}|${NUMBER}|null|true|false)`
const VALUE = String.raw`(?:${SCALAR}|\{(?:"\w+":${SCALAR}(?:,"\w+":${SCALAR})*)?\})`
const RANK = String.raw`([1-9]\d{0,4})`
const TEXT = `"(?:title|developer|icon|url)":(?:${STRING}|null)`
const OTHER = String.raw`"(?!(?:type|rank_group|rank_absolute|app_id|title|developer|icon|url)")\w+":${VALUE}`

/**
 * An item as the service sends it, and the sign behind it. Whatever it matches is valid JSON in which type,
 * ranks and app stand once. No two alternatives match the same text, so its time grows with the length of the
 * text alone.
 */
const ITEM = new RegExp(
  String.raw`\{"type":"(\w+)","rank_group":${RANK},"rank_absolute":${RANK},"position":(?:${STRING}|null),` +
    String.raw`"app_id":"([\w.-]+)"(?:,${TEXT}|,${OTHER})*\}([,\]])`,
  'y',
)
const LIST = '"items":['
/**
 * Of a body: a search of 700 apps has half a megabyte. The regular expression remembers each place in a text
 * to which it may go back.
 */
const MAX_BYTES = 4 * 1024 * 1024
/** Stands for the items while the rest of the answer is parsed. No answer holds it by itself. */
const PLACEHOLDER = randomUUID()

/** What is read of an item before any object is made of it. */
export interface ItemMarks {
  readonly type: string
  readonly rank: number
  readonly absolute: number
  readonly appId: string
}

/**
 * The items of one search. Each has its type, two ranks and an app as text, and texts that are texts or null.
 */
export class SentItems {
  readonly #body: Buffer
  readonly #from: number
  readonly #matches: readonly RegExpExecArray[]

  /** @param from where the list begins in the body, in bytes */
  constructor(body: Buffer, from: number, matches: readonly RegExpExecArray[]) {
    this.#body = body
    this.#from = from
    this.#matches = matches
  }

  get length(): number {
    return this.#matches.length
  }

  marksOf(place: number): ItemMarks {
    const match = this.#matches[place]
    return {
      type: match?.[1] ?? '',
      rank: Number(match?.[2]),
      absolute: Number(match?.[3]),
      appId: match?.[4] ?? '',
    }
  }

  /** The item as `JSON.parse` gives it. */
  parse(place: number): Readonly<Record<string, unknown>> {
    const { index = 0, 0: text = '' } = this.#matches[place] ?? {}
    return JSON.parse(this.#body.toString('utf8', index, index + text.length - 1))
  }

  /** All items as `JSON.parse` gives them. */
  parseAll(): unknown[] {
    return JSON.parse(this.#body.toString('utf8', this.#from, this.end))
  }

  /** Where the list ends in the body, in bytes. */
  get end(): number {
    const { index = 0, 0: text = '' } = this.#matches.at(-1) ?? {}
    return index + text.length
  }
}

/**
 * Parses the body of an answer as `JSON.parse` does, and throws as it does. The items of a search that are
 * all as usual are `SentItems` instead of an array.
 */
export function parseSparingly(body: Buffer): unknown {
  const items = findItems(body)
  if (items === null) return parseWhole(body)
  const { from, sent } = items
  const answer = JSON.parse(
    `${body.toString('utf8', 0, from)}"${PLACEHOLDER}"${body.toString('utf8', sent.end)}`,
  )
  const result = answer?.tasks?.[0]?.result?.[0]
  if (!isObject(result) || result.items !== PLACEHOLDER) return parseWhole(body)
  result.items = sent
  return answer
}

/** A result with the items of a search as `JSON.parse` gives them. */
export function withParsedItems(result: unknown): unknown {
  if (!isObject(result) || !(result.items instanceof SentItems)) return result
  return { ...result, items: result.items.parseAll() }
}

function parseWhole(body: Buffer): unknown {
  return JSON.parse(body.toString('utf8'))
}

/** The first list of items in a body; null when there is none, or one of its items is not as usual. */
function findItems(body: Buffer): { readonly from: number; readonly sent: SentItems } | null {
  if (body.byteLength > MAX_BYTES) return null
  // A character for each byte, so that places in the text are places in the body. All that JSON is made of is
  // ASCII.
  const text = body.toString('latin1')
  const from = text.indexOf(LIST) + LIST.length - 1
  if (from < LIST.length) return null
  const matches: RegExpExecArray[] = []
  ITEM.lastIndex = from + 1
  for (;;) {
    const match = ITEM.exec(text)
    if (match === null) return null
    matches.push(match)
    if (match[5] === ']') return { from, sent: new SentItems(body, from, matches) }
  }
}
