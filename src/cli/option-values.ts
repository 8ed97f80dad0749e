/** Values of options and arguments: each is read, or refused with what is allowed. */
import { accessSync, constants } from 'node:fs'
import { InvalidArgumentError } from 'commander'
import { parseDuration } from '../duration.ts'
import { type ListenAddress, parseListenAddress } from '../listen-address.ts'
import { didYouMean } from '../suggest.ts'
import { whyNot } from '../trouble.ts'

/** More names than these stand in the help alone. */
const MOST_NAMED = 20

function refuse(sentence: string): never {
  throw new InvalidArgumentError(sentence)
}

/** One of the names; `what` stands for them in the refusal: `job`. */
export function oneOf<const Name extends string>(
  what: string,
  names: readonly Name[],
): (text: string) => Name {
  return (text) => {
    const found = names.find((name) => name === text)
    const known = names.length > MOST_NAMED ? '' : ` Known: ${names.join(', ')}.`
    return found ?? refuse(`There is no such ${what}.${didYouMean(text, names)}${known}`)
  }
}

/** Some of the names, with commas between. */
export function someOf<const Name extends string>(
  what: string,
  names: readonly Name[],
): (text: string) => Name[] {
  const one = oneOf(what, names)
  return (text) => text.split(',').map((name) => one(name.trim()))
}

/** Contrast of 4.5 to white, as text needs: WCAG 2, 1.4.3. */
const BRIGHTEST = 1.05 / 4.5 - 0.05

/** `#1d59c4`: a colour in which text can be read on white. */
export function colour(text: string): string {
  if (!/^#[\da-f]{6}$/i.test(text)) return refuse('It must be red, green and blue as in #1d59c4.')
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const share = Number.parseInt(text.slice(at, at + 2), 16) / 255
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
  })
  if (0.2126 * red + 0.7152 * green + 0.0722 * blue <= BRIGHTEST) return text
  return refuse('It is too bright to be read on white: take a darker one.')
}

/** Both bounds are allowed. */
export function wholeNumber(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN
    if (value >= min && value <= max) return value
    return refuse(`It must be a whole number from ${min} to ${max}.`)
  }
}

export function day(text: string): string {
  const instant = Date.parse(/^\d{4}-\d\d-\d\d$/.test(text) ? text : '')
  // 30 February would be taken for 2 March.
  if (!Number.isNaN(instant) && new Date(instant).toISOString().startsWith(text)) return text
  return refuse('It must be a day such as 2026-03-01.')
}

/** Milliseconds. */
export function duration(text: string): number {
  return parseDuration(text) ?? refuse('It must be a duration such as 90s, 20m or 2h.')
}

/** How often a watch is measured, as Postgres reads it. */
export function interval(text: string): string {
  const [, digits, unit] = /^(\d{1,2})(h|d)$/.exec(text) ?? []
  const count = Number(digits)
  if (unit === 'h' && [1, 2, 3, 4, 6, 8, 12, 24].includes(count)) return `${count} hours`
  if (unit === 'd' && count >= 1 && count <= 31) return `${count} days`
  return refuse('It must be 1h, 2h, 3h, 4h, 6h, 8h or 12h, or whole days from 1d to 31d.')
}

export function priority(text: string): 1 | 2 {
  if (text === '1' || text === '2') return text === '1' ? 1 : 2
  return refuse('It must be 1, or 2: twice the price.')
}

/** An argument of a question, by the name that its function has for it, with its value. */
export function namedValue(text: string): readonly [name: string, value: string] {
  const [, name = '', value = ''] = /^(?:in_)?(\w+)=(.+)$/s.exec(text) ?? []
  if (value !== '') return [`in_${name}`, value]
  return refuse('It must be a name with its value, such as top=3.')
}

export function encoding(name: string): string {
  try {
    return new TextDecoder(name).encoding
  } catch {
    return refuse('There is no such encoding: utf-8, utf-16le, windows-1252 and shift_jis are some.')
  }
}

export function readableFile(path: string): string {
  try {
    accessSync(path, constants.R_OK)
    return path
  } catch (error) {
    return refuse(`It cannot be read: ${whyNot(error)}.`)
  }
}

export function listenAddress(text: string): ListenAddress {
  const rule = 'It must be a port such as 8070, or host and port such as 0.0.0.0:8070.'
  return parseListenAddress(text) ?? refuse(rule)
}
