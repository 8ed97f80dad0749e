/** Holds the table of rows, the tests and the specification together: none has what another lacks. */

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { CATEGORY_VALUES } from './category-values.ts'
import { coverage, SIDES } from './covers.ts'
import { PATHS, STORES } from './paths.ts'
import { ROWS, rowsOf, SECTIONS, type Section } from './rows.ts'
import { type Chapter, findNames, hasSpecification, isNamedAfter, readChapters } from './specification.ts'

const PROJECT = join(import.meta.dirname, '../..')

describe('the table of rows', () => {
  test('has a test for both sides of every row, or says who has it or why there is none', () => {
    const missing = [...ROWS].flatMap((row) =>
      SIDES.filter((side) => !coverage.some((each) => each.row === row && each.side === side)).map(
        (side) => `${row} (${side})`,
      ),
    )
    assert.deepEqual(missing, [])
  })

  test('has a row for every test', () => {
    const strangers = coverage.map(({ row }) => row).filter((row) => !ROWS.has(row))
    assert.deepEqual(strangers, [])
  })

  test('has every id once', () => {
    const ids = SECTIONS.flatMap(rowsOf)
    assert.deepEqual(
      ids.filter((id, index) => ids.indexOf(id) !== index),
      [],
    )
  })

  test('names tests elsewhere that are there', () => {
    for (const { row, by } of coverage) {
      if (by === 'a test here' || 'because' in by) continue
      // A long title is written in parts.
      const source = readFileSync(join(PROJECT, by.file), 'utf8').replaceAll(/' \+\n\s*'/g, '')
      assert.ok(source.includes(`'${by.test}'`), `${row}: ${by.file} has no test '${by.test}'`)
    }
  })
})

const chapterOf = ({ document, heading }: Section): Chapter => {
  const chapter = readChapters(document).find(({ title }) => title.startsWith(heading))
  assert.ok(chapter, `${document} has no chapter ${heading}`)
  return chapter
}

const lastPart = (id: string): string => id.split('.').at(-1) ?? id

/**
 * The part of each id that names a row: the one behind the prefix that all of a table share. Neighbours are
 * one row.
 */
const rowNames = (ids: readonly string[]): string[] => {
  const parts = ids.map((id) => id.split('.'))
  const depth = parts[0]?.findIndex((part, index) => parts.some((each) => each[index] !== part)) ?? 0
  const names = parts.map((part) => part[depth] ?? '')
  return names.filter((name, index) => name !== names[index - 1])
}

const checkTables = (section: Section, chapter: Chapter): void => {
  const { tables = [], heading } = section
  assert.equal(tables.length, chapter.tables.length, `${heading}: number of tables`)
  for (const [index, ids] of tables.entries()) {
    const names = rowNames(ids)
    const cells = chapter.tables[index]?.map(([first = '']) => first) ?? []
    assert.equal(names.length, cells.length, `${heading}: ${names} stand for ${cells.join(' / ')}`)
    for (const [row, cell] of cells.entries()) {
      assert.ok(isNamedAfter(names[row] ?? '', cell), `${heading}: ${names[row]} stands for ${cell}`)
    }
  }
}

const checkText = (section: Section, chapter: Chapter): void => {
  for (const id of section.text ?? []) {
    const isSaid = chapter.lines.some((line) => isNamedAfter(lastPart(id), `${line} .`))
    assert.ok(isSaid, `${section.heading}: nothing speaks of ${id}`)
  }
}

const checkNames = (section: Section, chapter: Chapter): void => {
  if (section.values === undefined) return
  const known = new Set([
    ...rowsOf(section).flatMap((id) => id.split('.')),
    ...section.values.split(/\s+/),
    ...['result', 'tasks'],
  ])
  const strangers = [...findNames(chapter.lines.join('\n'))].filter((name) => !known.has(name))
  assert.deepEqual(strangers, [], `${section.heading}: names without a row`)
}

/**
 * The paths in a cell of the table of endpoints, written out: `{store}` is either, `...` what they all begin
 * with.
 */
const readPaths = (cell: string): string[] =>
  [...cell.matchAll(/`(\S+)`/g)].flatMap(([, path = '']) => {
    const whole = path.replace('...', '/v3/app_data')
    return whole.includes('{store}') ? STORES.map((store) => whole.replace('{store}', store)) : [whole]
  })

const checkPaths = (section: Section, chapter: Chapter): void => {
  if (section.heading !== 'Endpoints') return
  for (const [number = '', cell = ''] of chapter.tables[0] ?? []) {
    const [method] = cell.split(' ')
    assert.deepEqual(
      PATHS[number],
      readPaths(cell).map((path) => `${method} ${path}`),
      `endpoint ${number}`,
    )
  }
}

const checkCategories = (section: Section, chapter: Chapter): void => {
  if (section.heading !== 'Reference records') return
  for (const store of STORES) {
    const line = chapter.lines.find((each) => each.startsWith(`Allowed category values, ${store}`)) ?? ''
    assert.deepEqual(line.replace(/^.*: |\.$/g, '').split(', '), CATEGORY_VALUES[store])
  }
}

const compareWith = (section: Section): void => {
  const chapter = chapterOf(section)
  checkTables(section, chapter)
  assert.deepEqual(section.list?.map(lastPart) ?? [], chapter.list)
  checkText(section, chapter)
  checkNames(section, chapter)
  checkPaths(section, chapter)
  checkCategories(section, chapter)
}

describe('docs/service.md', () => {
  for (const section of SECTIONS.filter(({ document }) => document === 'docs/service.md')) {
    test(`has the rows of ${section.heading}, and no others`, () => compareWith(section))
  }
})

const noSpecification = !hasSpecification && 'SERVICE_SPECIFICATION names no file with it'

describe('the specification', { skip: noSpecification }, () => {
  const sections = SECTIONS.filter(({ document }) => document === 'app-data-service.md')

  for (const section of sections) {
    test(`has the rows of ${section.heading}, and no others`, () => compareWith(section))
  }

  test('has no chapter that the table of rows leaves out', () => {
    const strangers = readChapters('app-data-service.md').filter(
      ({ title }) => !sections.some(({ heading }) => title.startsWith(heading)),
    )
    assert.deepEqual(
      strangers.map(({ title }) => title),
      [],
    )
  })
})
