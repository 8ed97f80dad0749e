/** Rules of single settings: each turns a text into a value, or says what it must be. */
import { z } from 'zod'
import { parseDatabaseUrl } from './database-url.ts'
import { parseDuration } from './duration.ts'
import { ConfigurationError } from './errors.ts'
import { Secret } from './secret.ts'

const MICROS_PER_USD = 1_000_000

/**
 * Micro-dollars of a decimal amount such as `5` or `0.0012`, exact: no float ever holds the dollars. Null
 * when it is not one, has more than six decimals, or is a billion dollars and more.
 */
export function parseUsdMicros(text: string): number | null {
  const [, dollars, decimals = ''] = /^(\d{1,9})(?:\.(\d{1,6}))?$/.exec(text) ?? []
  return dollars === undefined ? null : Number(dollars) * MICROS_PER_USD + Number(decimals.padEnd(6, '0'))
}

/** A text that `parse` turns into a value, or into null where it breaks the rule `must …`. */
export function rule<Value>(must: string, parse: (text: string) => Value | null): z.ZodType<Value, string> {
  return z.string().transform((text, context) => {
    const value = parse(text)
    if (value !== null) return value
    context.addIssue(must)
    return z.NEVER
  })
}

/** Both bounds are allowed. */
export function wholeNumber(min: number, max: number) {
  return rule(`must be a whole number from ${min} to ${max}`, (text) => {
    const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
    return value >= min && value <= max ? value : null
  })
}

/** Both bounds as a person writes them. */
export function duration(max: string, min = '0s') {
  const range =
    min === '0s' ? `of at most ${max}, such as 90s, 20m or 2h` : `from ${min} to ${max}, such as 400d`
  return rule(`must be a duration ${range}`, (text) => {
    const durationMs = parseDuration(text)
    const isWithin = durationMs !== null && durationMs >= (parseDuration(min) ?? 0)
    return isWithin && durationMs <= (parseDuration(max) ?? 0) ? durationMs : null
  })
}

/** Micro-dollars. */
export const usd = () =>
  rule('must be an amount in dollars such as 5 or 0.25, with at most six decimals', parseUsdMicros)

export function databaseUrl(): z.ZodType<Secret, string> {
  return z.string().transform((text, context) => {
    try {
      parseDatabaseUrl(text)
      return new Secret(text)
    } catch (error) {
      if (!(error instanceof ConfigurationError)) throw error
      context.addIssue(error.message)
      return z.NEVER
    }
  })
}

/** The address without a slash at its end. */
export const serviceUrl = () =>
  rule(
    'must be the address of the service such as https://api.example.com: https (http only on loopback), ' +
      'without login, query or the /v3 that begins every path',
    (text) => {
      const url = parseUrl(text)
      if (url === null) return null
      const isBare = url.username === '' && url.password === '' && url.search === '' && url.hash === ''
      const address = url.origin + url.pathname.replace(/\/+$/, '')
      return isSafe(url) && isBare && !address.endsWith('/v3') ? address : null
    },
  )

export const postbackUrl = () =>
  rule(
    'must be the address at which the service reaches `storerank start --listen`, such as ' +
      'https://ranks.example.com/hooks/ and a secret: https (http only on loopback), without login, ' +
      'query or ' +
      'fragment, ending in 24 or more letters, digits, - or _ as `openssl rand -hex 24` makes them',
    (text) => {
      const url = parseUrl(text)
      if (url === null || !isSafe(url)) return null
      const isBare = url.href === url.origin + url.pathname
      return isBare && /\/[\w-]{24,}$/.test(url.pathname) ? new Secret(url.href) : null
    },
  )

export const proxyUrl = () =>
  rule('must be the address of a proxy such as http://proxy.internal:3128', (text) =>
    ['http:', 'https:'].includes(parseUrl(text)?.protocol ?? '') ? new Secret(text) : null,
  )

export const webUrl = () =>
  rule('must be an address that a GET of http or https may be sent to', (text) =>
    ['http:', 'https:'].includes(parseUrl(text)?.protocol ?? '') ? new Secret(text) : null,
  )

export const mailServer = () =>
  rule(
    'must be the address of a mail server such as smtps://login:password@mail.example.com or ' +
      'smtp://mail.example.com:587',
    (text) => {
      const url = parseUrl(text)
      if (url === null || !['smtp:', 'smtps:'].includes(url.protocol) || url.hostname === '') return null
      return ['', '/'].includes(url.pathname) && url.search === '' ? new Secret(text) : null
    },
  )

/** `ranks@example.com`, or `Ranks <ranks@example.com>`. */
export const mailSender = () =>
  rule('must be the address from which alerts are sent, such as ranks@example.com', (text) =>
    /^[^\s@<>]+@[^\s@<>]+$|^[^<>@\r\n]+ <[^\s@<>]+@[^\s@<>]+>$/.test(text) ? text : null,
  )

export const hostNames = () =>
  rule('must be names of hosts, or addresses, with commas between', (text): readonly string[] | null => {
    const hosts = text === '' ? [] : text.split(',').map((host) => host.trim().toLowerCase())
    return hosts.every((host) => /^[a-z0-9._:-]+$/.test(host)) ? hosts : null
  })

export function parseUrl(text: string): URL | null {
  return URL.canParse(text) ? new URL(text) : null
}

/** Whether what is sent there cannot be read on the way. */
function isSafe(url: URL): boolean {
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url))
}

export function isLoopback(url: URL | null): boolean {
  return url !== null && /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/.test(url.hostname)
}
