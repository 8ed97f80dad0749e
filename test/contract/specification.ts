/**
 * Reads docs/service.md, and the service's specification where SERVICE_SPECIFICATION names its file:
 * headings, and the rows below each.
 */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Section } from './rows.ts'

const PROJECT = join(import.meta.dirname, '../..')
const SPECIFICATION = process.env.SERVICE_SPECIFICATION ?? ''

/** What stands below one heading. */
export type Chapter = {
  title: string
  /** The cells of every row of each table, without its head. */
  tables: string[][][]
  /** The numbers of the numbered lines. */
  list: string[]
  /** Every line with something on it. */
  lines: string[]
}

/** Whether there is a specification to compare with: it is the service's, and no part of the project. */
export const hasSpecification = SPECIFICATION !== ''

const readCells = (line: string): string[] =>
  line
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim())

const readChapter = (text: string): Chapter => {
  const [title = '', ...rest] = text.split('\n')
  const lines = rest.filter((line) => line.trim() !== '')
  const tables: string[][][] = []
  for (const [index, line] of lines.entries()) {
    if (!line.startsWith('|')) continue
    if (!lines[index - 1]?.startsWith('|')) tables.push([])
    tables.at(-1)?.push(readCells(line))
  }
  return {
    title: title.replace(/^#+ /, ''),
    // The first two rows are the head and the line below it.
    tables: tables.map((table) => table.slice(2)),
    list: lines.flatMap((line) => /^(\d+)\. /.exec(line)?.[1] ?? []),
    lines,
  }
}

/** The chapters of a document, those without any text left out. */
export const readChapters = (document: Section['document']): Chapter[] =>
  readFileSync(document === 'docs/service.md' ? join(PROJECT, document) : SPECIFICATION, 'utf8')
    .split(/^(?=#{1,3} )/m)
    .map(readChapter)
    .filter(({ lines }) => lines.length > 0)

const splitWords = (text: string): string[] => text.toLowerCase().match(/[a-z0-9]+/g) ?? []

/** Whether a name is made of words of a text, in their order; a text of one word must be the name itself. */
export const isNamedAfter = (name: string, text: string): boolean => {
  if (/^`?[\w/]+`?$/.test(text)) return splitWords(name).join() === splitWords(text).join()
  const found = splitWords(text).values()
  return splitWords(name).every((word) => found.some((each) => each === word))
}

/** The names that a text mentions: in backticks, with an underscore, or in front of their type. */
export const findNames = (text: string): Set<string> => {
  const types = 'string|integer|float|array|object|boolean|timestamp'
  const named = [
    ...text.matchAll(/`([a-z][a-z0-9_]*)`/g),
    ...text.matchAll(/\b([a-z]+(?:_[a-z0-9]+)+)\b/g),
    ...text.matchAll(new RegExp(`\\b([a-z]+)\`? \\((?:${types})`, 'g')),
  ]
  return new Set(named.map(([, name = '']) => name))
}
