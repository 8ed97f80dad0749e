/**
 * Compares an answer on the wire with the object that the service's official client makes of it, by what that
 * client declares: a field that it does not know, one of another type than it says, one that it loses, and
 * one that it knows and was not sent.
 */

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const MODELS = join(dirname(fileURLToPath(import.meta.resolve('dataforseo-client'))), 'models')

// biome-ignore lint/suspicious/noExplicitAny: the answers of the wire are looked into by hand here.
type Json = any

/**
 * What is wrong with an answer, by the path of the field; `absent` are those that are known and were not
 * sent.
 */
export interface Disagreement {
  readonly wrong: string[]
  readonly absent: Set<string>
}

const declared = new Map<string, ReadonlyMap<string, string>>()

/** The fields of a class with their types, as its declaration says. */
const fieldsOf = (name: string): ReadonlyMap<string, string> => {
  const known = declared.get(name)
  if (known !== undefined) return known
  const text = readFileSync(join(MODELS, `${name}.d.ts`), 'utf8')
  const [, parent] = /^export declare class \w+ extends (\w+)/m.exec(text) ?? []
  const body = text.slice(text.indexOf('export declare class'))
  const own = [...body.matchAll(/^ {4}(\w+)\?: ([^;]+|\{[^}]*\}) \| undefined;$/gm)]
  const fields = new Map([
    ...(parent === undefined ? [] : fieldsOf(parent)),
    ...own.map(([, field = '', type = '']) => [field, type] as const),
  ])
  declared.set(name, fields)
  return fields
}

const isOfType = (sent: unknown, type: string): boolean => {
  if (sent === null || type === 'any') return true
  if (type.endsWith('[]')) {
    return Array.isArray(sent) && sent.every((each) => isOfType(each, type.slice(0, -2)))
  }
  if (['string', 'number', 'boolean'].includes(type)) return typeof sent === type
  return typeof sent === 'object' && !Array.isArray(sent)
}

const compareRecord = (sent: Json, typed: Json, path: string, found: Disagreement): void => {
  const fields = fieldsOf(typed.constructor.name)
  for (const [field, value] of Object.entries(sent)) {
    const here = `${path}.${field}`
    const type = fields.get(field)
    if (type === undefined) found.wrong.push(`${here} is unknown to ${typed.constructor.name}`)
    else if (!isOfType(value, type))
      found.wrong.push(`${here} is no ${type}: ${JSON.stringify(value).slice(0, 60)}`)
    else compareValue(value, typed[field], here, found)
  }
  for (const field of fields.keys()) if (!(field in sent)) found.absent.add(`${path}.${field}`)
}

const isLost = (sent: unknown, typed: unknown): boolean => {
  if (sent === null) return typed !== null && typed !== undefined
  try {
    assert.deepEqual(typed, sent)
    return false
  } catch {
    return true
  }
}

const isRecord = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Compares what was sent with what the client holds. */
export const compareValue = (sent: Json, typed: Json, path: string, found: Disagreement): void => {
  if (Array.isArray(sent) && Array.isArray(typed) && typed.length === sent.length) {
    for (const [index, each] of sent.entries()) compareValue(each, typed[index], `${path}[]`, found)
  } else if (isRecord(sent) && isRecord(typed) && typed.constructor !== Object) {
    compareRecord(sent, typed, path, found)
  } else if (isLost(sent, typed)) found.wrong.push(`${path} is lost`)
}
