/** What a party replied (a receiver, a mail server), quoted in one bounded line without secrets. */
import { redactSecrets, toPrintable } from './printable.ts'

/** Of what a party says of itself. */
const LONGEST_REASON = 300
/** Of an answer no more is read. */
const MAX_ANSWER_BYTES = 4096

/** What came of an answer before it ended, broke off or became too long: what is left of it is not read. */
export async function readStart(body: AsyncIterable<Uint8Array>): Promise<string> {
  let start = Buffer.alloc(0)
  try {
    for await (const chunk of body) {
      start = Buffer.concat([start, chunk])
      if (start.length >= MAX_ANSWER_BYTES) break
    }
  } catch {
    // The status is told without it.
  }
  return start.subarray(0, MAX_ANSWER_BYTES).toString()
}

/** What to do about a status of HTTP that is none of success. */
function remedyOf(status: number): string {
  if (status < 400) return 'Write the address to which it leads: no redirect is followed.'
  if (status === 401 || status === 403) return 'Check its address and its secret.'
  if (status === 404 || status === 405 || status === 410) return 'Check its address.'
  if (status === 429) return 'It takes more later.'
  return status < 500 ? 'Check that it takes what is sent to it.' : 'See its own log.'
}

/**
 * @param body what of it was read
 * @param secrets what must not be shown where the party repeats it
 */
export function describeStatus(
  party: string,
  status: number,
  body: string,
  secrets: readonly string[],
): string {
  const reason = readReason(hide(body, secrets))
  return `${party} answered HTTP ${status}${reason === '' ? '' : `: "${reason}"`}. ${remedyOf(status)}`
}

/** A reply of a server as a sentence quotes it. */
export function quoteReply(reply: string, secrets: readonly string[]): string {
  return `"${shorten(hide(reply, secrets))}"`
}

/** What repeats a request repeats its path too, of which each long part may be a secret. */
export function secretsOf({ href, pathname, search, username, password }: URL): string[] {
  const inPath = pathname.split('/').filter((part) => part.length >= 8)
  const parts = [href, pathname + search, pathname, search.slice(1), username, password, ...inPath]
  return parts.filter((text) => text.length > 1)
}

function hide(text: string, secrets: readonly string[]): string {
  const longest = [...secrets, ...secrets.map(decode)].toSorted((a, b) => b.length - a.length)
  return longest.reduce((left, secret) => (secret === '' ? left : left.replaceAll(secret, '[secret]')), text)
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Fields in which answers in JSON say what is wrong. */
const SAYING = ['message', 'error', 'error_description', 'detail', 'title', 'reason', 'description', 'hint']

/** The sentence in an answer, which may be text, JSON or a page; empty when there is none. */
function readReason(body: string): string {
  try {
    const parsed: unknown = JSON.parse(body)
    return shorten(typeof parsed === 'string' ? parsed : listTexts(parsed).join('; ') || body)
  } catch {
    return shorten(body.replace(/<(script|style)\b.*?<\/\1>/gis, ' ').replace(/<[^>]*>/g, ' '))
  }
}

function listTexts(value: unknown): string[] {
  if (typeof value === 'string') return value === '' ? [] : [value]
  if (value === null || typeof value !== 'object') return []
  return SAYING.flatMap((field) => listTexts((value as Record<string, unknown>)[field]))
}

/** One line of what a party said, without secrets, and no longer than a person reads. */
export function shorten(text: string): string {
  const line = redactSecrets(toPrintable(text)).replace(/\s+/g, ' ').trim().replace(/\.$/, '')
  return line.length <= LONGEST_REASON
    ? line
    : `${line.slice(0, LONGEST_REASON).replace(/[\ud800-\udbff]$/, '')}…`
}
