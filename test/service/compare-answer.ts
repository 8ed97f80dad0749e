/**
 * Compares an answer of the service with what the client makes of it, field by field: every field that was
 * sent is found again under our name for it, or stands among those that are left out by decision, with the
 * reason.
 */

import assert from 'node:assert/strict'

// biome-ignore lint/suspicious/noExplicitAny: the answers of the wire are looked into by hand here.
type Json = any

/** Names and reasons by the path of a field, such as `items[].rank_group`. */
export interface Comparison {
  /** Where our name is not the wire's in camel case. */
  readonly names?: Readonly<Record<string, string>>
  /** Where the client makes another value of it. */
  readonly values?: Readonly<Record<string, (sent: Json) => unknown>>
  /** Why the client does not give a field. A path stands for everything below it. */
  readonly left?: Readonly<Record<string, string>>
}

const TIMESTAMP = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d) \+00:00$/

const camel = (name: string): string => name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase())

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** What the client makes of a value by itself: of a time an instant. */
const readValue = (sent: unknown): unknown => {
  const [, day, time] = (typeof sent === 'string' && TIMESTAMP.exec(sent)) || []
  return day === undefined ? sent : new Date(`${day}T${time}Z`)
}

/** Compares, and gives the paths of the fields that were compared. */
export const compareAnswer = (sent: Json, read: Json, rules: Comparison, path = ''): string[] => {
  const value = rules.values?.[path]
  if (value !== undefined) {
    assert.deepEqual(read, value(sent), path)
    return [path]
  }
  if (Array.isArray(sent)) {
    assert.ok(Array.isArray(read), `${path} is no list with the client`)
    assert.equal(read.length, sent.length, `${path}: number of elements`)
    return sent.flatMap((each, index) => compareAnswer(each, read[index], rules, `${path}[]`))
  }
  if (!isRecord(sent)) {
    assert.deepEqual(read, readValue(sent), path)
    return [path]
  }
  assert.ok(isRecord(read), `${path} is no record with the client`)
  return Object.entries(sent).flatMap(([field, each]) => {
    const here = path === '' ? field : `${path}.${field}`
    if (rules.left?.[here] !== undefined) return [here]
    const name = rules.names?.[here] ?? camel(field)
    assert.ok(name in read, `${here} is lost: the client gives no ${name}`)
    return compareAnswer(each, read[name], rules, here)
  })
}
