/**
 * Holds the table of docs/service.md on the service as it is sold together with the sandbox's deviations and
 * faults, and the tests.
 */

import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { DEVIATION_NAMES } from '../../src/sandbox/deviations.ts'
import { FAULT_KINDS } from '../../src/sandbox/faults.ts'
import { readChapters } from './specification.ts'

const PROJECT = join(import.meta.dirname, '../..')

const readRows = (): string[][] => {
  const chapter = readChapters('docs/service.md').find(({ title }) => title === 'The service as it is sold')
  assert.ok(chapter)
  return chapter.tables[0] ?? []
}
const namesIn = (cell = ''): string[] => [...cell.matchAll(/`([a-z][\w-]*)`/gi)].map(([, name = '']) => name)

describe('the table of the service as it is sold', () => {
  test('has a row for every deviation, and names no other', () => {
    const named = new Set(readRows().flatMap(([, , played]) => namesIn(played)))
    const known: readonly string[] = [...DEVIATION_NAMES, ...FAULT_KINDS]
    assert.deepEqual(
      [...named].filter((name) => !known.includes(name)),
      [],
    )
    assert.deepEqual(
      DEVIATION_NAMES.filter((name) => !named.has(name)),
      [],
    )
  })

  test('says of each point where it is known from', () => {
    for (const [point, sold] of readRows()) assert.match(sold ?? '', /\((doc|live|guess)\b/, point)
  })

  test('has a test about each deviation and fault that it names', () => {
    const tests = globSync('test/**/*.ts', { cwd: PROJECT })
      .filter((file) => !file.startsWith('test/contract/sold-table'))
      .map((file) => readFileSync(join(PROJECT, file), 'utf8'))
    for (const name of readRows().flatMap(([, , played]) => namesIn(played)))
      assert.ok(
        tests.some((source) => new RegExp(`['"]${name}['"]|\\b${name}:`).test(source)),
        name,
      )
  })
})
