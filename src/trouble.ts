/**
 * Why another party could not be reached, or did not take what was sent, and what to do about it: in one
 * place for receivers of alerts, mail servers and the heartbeat. A sentence names the party, its reason and a
 * remedy, and nothing of the address, which may be a secret.
 */
import { redactSecrets, toPrintable } from './log.ts'

/** Of what a party says of itself. */
const LONGEST_REASON = 300
/** Below an error stand its causes, and those of each address that was tried. */
const MOST_CAUSES = 5

/** By the code of the system, of TLS or of a client, or by what its message says of one. */
const REASONS: readonly (readonly [RegExp, reason: string, remedy: string])[] = [
  [/ENOTFOUND|EAI_NONAME|EAI_NODATA/, 'no name server knows its host', 'Correct the name of the host.'],
  [/EAI_AGAIN/, 'no name server answers', 'Check the network of the machine that runs storerank.'],
  [/ECONNREFUSED/, 'nothing listens there', 'Check that it runs, and the port.'],
  [
    /ENETUNREACH|EHOSTUNREACH|EADDRNOTAVAIL|ENETDOWN|EHOSTDOWN/,
    'no network leads there',
    'Check the network of the machine that runs storerank.',
  ],
  [
    /CERT_|_CERT|UNABLE_TO_(VERIFY|GET)|certificate/i,
    'its certificate is not trusted',
    'Name the host that the certificate is of, or the file of its authority in NODE_EXTRA_CA_CERTS.',
  ],
  [
    /EPROTO|ERR_SSL|ERR_TLS|ETLS|wrong version number/,
    'it does not speak TLS there',
    'Check the port, and whether it takes connections with TLS.',
  ],
  [/HPE_|HTTP\/1.1 protocol/, 'what it answers is no HTTP', 'Check the port.'],
  [
    /TimeoutError|ETIMEDOUT|EABORT|_TIMEOUT|timeout/i,
    'it did not answer in time',
    'Check that it runs, and firewalls on the way.',
  ],
  [
    /ECONNRESET|ECONNABORTED|EPIPE|UND_ERR_SOCKET|other side closed|closed unexpectedly/i,
    'it closed the connection before it answered',
    'See its own log.',
  ],
]

/** @param party as the subject of a sentence: "The receiver" */
export function describeUnreachable(party: string, error: unknown): string {
  const signs = listSigns(error)
  for (const [sign, reason, remedy] of REASONS) {
    const code = signs.find((each) => sign.test(each))
    if (code !== undefined) return `${party} could not be reached: ${reason}${quoteCode(code)}. ${remedy}`
  }
  const said = signs.at(-1) ?? ''
  return `${party} could not be reached: ${shorten(said) || 'no reason is known'}. See its own log.`
}

/** The codes of an error and of its causes, and then their messages. */
function listSigns(error: unknown): string[] {
  const errors: unknown[] = [error]
  for (let n = 0; n < errors.length && n < MOST_CAUSES; n += 1) {
    const { cause, errors: several = [] } = (errors[n] ?? {}) as { cause?: unknown; errors?: unknown[] }
    errors.push(...several, ...(cause === undefined ? [] : [cause]))
  }
  const found = errors.filter((each): each is Error & { code?: string } => each instanceof Error)
  const codes = found.flatMap(({ code, name }) => [code, name === 'Error' ? undefined : name])
  return [...codes.filter((code) => typeof code === 'string'), ...found.map(({ message }) => message)]
}

function quoteCode(sign: string): string {
  const [code] = /\b[A-Z][A-Z_]{3,}\b/.exec(sign) ?? []
  return code === undefined ? '' : ` (${code})`
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
export function secretsOf(url: URL): string[] {
  const parts = [
    url.href,
    `${url.pathname}${url.search}`,
    url.pathname,
    url.search.slice(1),
    url.username,
    url.password,
  ]
  const inPath = url.pathname.split('/').filter((part) => part.length >= 8)
  return [...parts, ...inPath].filter((text) => text.length > 1)
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
  const said = readJson(body) ?? body.replace(/<(script|style)\b.*?<\/\1>/gis, ' ').replace(/<[^>]*>/g, ' ')
  return shorten(said)
}

function readJson(body: string): string | null {
  try {
    const parsed: unknown = JSON.parse(body)
    if (typeof parsed === 'string') return parsed
    const texts = SAYING.flatMap((field) => listTexts((parsed as Record<string, unknown> | null)?.[field]))
    return texts.length === 0 ? body : texts.join('; ')
  } catch {
    return null
  }
}

function listTexts(value: unknown): string[] {
  if (typeof value === 'string') return value === '' ? [] : [value]
  if (value === null || typeof value !== 'object') return []
  return SAYING.flatMap((field) => listTexts((value as Record<string, unknown>)[field]))
}

function shorten(text: string): string {
  const line = redactSecrets(toPrintable(text)).replace(/\s+/g, ' ').trim().replace(/\.$/, '')
  return line.length <= LONGEST_REASON
    ? line
    : `${line.slice(0, LONGEST_REASON).replace(/[\ud800-\udbff]$/, '')}…`
}
