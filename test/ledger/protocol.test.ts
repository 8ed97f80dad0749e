/**
 * The diagram of docs/protocol.md and the code of src/ledger say the same; nothing else writes the tables of
 * the ledger.
 */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'

const PROJECT = join(import.meta.dirname, '../..')

const readFiles = (pattern: string): { file: string; text: string }[] =>
  globSync(pattern, { cwd: PROJECT })
    .sort()
    .map((file) => ({ file, text: readFileSync(join(PROJECT, file), 'utf8') }))

/** How an arrow and a statement are compared: `task: planTasks → planned`. */
const describeMove = (table: string, fn: string, state: string): string => `${table}: ${fn} → ${state}`

/** `[*]`: the row is made, or deleted. */
const NO_ROW = '[*]'

/** The arrows `from --> to: function, function` within `state task { … }` and `state post { … }`. */
const readDiagram = (markdown: string): Set<string> => {
  const [, diagram = ''] = /```mermaid\n(.*?)```/s.exec(markdown) ?? []
  const moves = new Set<string>()
  for (const [, table = '', arrows = ''] of diagram.matchAll(/state (\w+) \{(.*?)\}/gs)) {
    for (const line of arrows.split('\n').filter((each) => each.trim() !== '')) {
      const [, to = '', functions = ''] = /^\s*\S+ --> (\S+): (\w+(?:, \w+)*)$/.exec(line) ?? []
      assert.ok(to, `The diagram has a line that is no arrow: ${line}`)
      for (const fn of functions.split(', ')) moves.add(describeMove(table, fn, to))
    }
  }
  return moves
}

/** Top-level functions of a source with their names; null for the name of one that is not exported. */
const readFunctions = (source: string): { name: string | null; body: string }[] =>
  source
    .split(/^(?=(?:export )?(?:async )?function )/m)
    .filter((body) => /^(export |async |function )/.test(body))
    .map((body) => ({ name: /^export (?:async )?function (\w+)/.exec(body)?.[1] ?? null, body }))

/**
 * What follows `set` of an update, to its end or to the `from`, `where` or `returning` outside of
 * parentheses.
 */
const readAssignments = (text: string): string => {
  let depth = 0
  let kept = ''
  for (const [part] of text.matchAll(
    /[()`]|\b(?:from|where|returning)\b|[^()`]+?(?=[()`]|\b(?:from|where|returning)\b|$)/g,
  )) {
    if (part === '`' || (depth === 0 && /^(from|where|returning|\))$/.test(part))) break
    if (part === '(') depth += 1
    if (depth === 0) kept += part
    if (part === ')') depth -= 1
  }
  return kept
}

/** The states that an assignment can give: the text itself, or what stands behind `then` and `else`. */
const readStates = (assignments: string): string[] => {
  const [, value = ''] = /(?:^|[\s,])state = (.*?)(?:,\s*\w+ = |$)/s.exec(assignments) ?? []
  return [...value.matchAll(/(?:^|\bthen |\belse )'(\w+)'/g)].map(([, state = '']) => state)
}

const FIRST_STATES = { task: 'planned', post: 'ready' } as const

/** The moves of one table in the text of a function: the states that its statements give. */
const readMoves = (table: 'task' | 'post', body: string): string[] => {
  const updates = body.split(new RegExp(`update ${table}(?: \\w)? set\\s`)).slice(1)
  return [
    ...(new RegExp(`insert into ${table}\\b`).test(body) ? [FIRST_STATES[table]] : []),
    ...(new RegExp(`delete from ${table}\\b`).test(body) ? [NO_ROW] : []),
    ...updates.flatMap((rest) => readStates(readAssignments(rest))),
  ]
}

/** Every statement of a source that moves a task or a post, with the function that it stands in. */
const readAllMoves = (source: string): string[] =>
  readFunctions(source).flatMap(({ name, body }) =>
    (['task', 'post'] as const).flatMap((table) => {
      const states = readMoves(table, body)
      assert.ok(
        name !== null || states.length === 0,
        `A function that is not exported moves a ${table} to ${states[0]}: ${body.slice(0, 80)}`,
      )
      return states.map((state) => describeMove(table, name ?? '', state))
    }),
  )

describe('the diagram of docs/protocol.md', () => {
  const [protocol] = readFiles('docs/protocol.md')
  const drawn = readDiagram(protocol?.text ?? '')

  test('has an arrow for every statement that moves a task or a post, and no other arrow', () => {
    const moves = readFiles('src/ledger/*.ts').flatMap(({ text }) => readAllMoves(text))
    assert.deepEqual([...drawn].sort(), [...new Set(moves)].sort())
  })

  test('has every state that the tables allow', () => {
    const [schema] = readFiles('docs/schema.txt')
    for (const table of ['task', 'post']) {
      const [, states = ''] =
        new RegExp(`${table}_state_known CHECK \\(.*ARRAY\\[(.*?)\\]`).exec(schema?.text ?? '') ?? []
      const allowed = [...states.matchAll(/'(\w+)'/g)].map(([, state = '']) => state)
      const reached = [...drawn].flatMap((move) =>
        move.startsWith(`${table}: `) ? move.split(' → ')[1] : [],
      )
      assert.deepEqual(new Set(reached), new Set([...allowed, NO_ROW]), table)
    }
  })
})

describe('the reading of a source', () => {
  test('finds every way in which a statement gives a state', () => {
    const source = [
      'export async function a() {\n  await sql`update task k set depth = (select 1 from x where y), ' +
        "state = 'posted' from z where k.state = 'planned'`\n}",
      "export function b() {\n  return sql`update task set state = case when state = 'posting' then " +
        "'dropped' else 'failed' end, depth = 1`\n}",
      'export async function c() {\n  await sql`with gone as (delete from post p) insert into task ' +
        '(id) select 1`\n}',
      "export async function d() {\n  await sql`update post set problem = 'x' where state = 'ready'`\n}",
    ].join('\n\n')
    assert.deepEqual(readAllMoves(source), [
      'task: a → posted',
      'task: b → dropped',
      'task: b → failed',
      'task: c → planned',
      'post: c → [*]',
    ])
  })

  test('refuses a statement in a function that is not exported', () => {
    assert.throws(
      () => readAllMoves("function hidden() {\n  sql`update post set state = 'ready'`\n}"),
      /is not exported/,
    )
  })
})

describe('the tables of the ledger', () => {
  const TABLES = 'task|post|charge|charged_price|spend|ledger'
  const WRITE = new RegExp(
    `\\b(insert\\s+into|update|delete\\s+from|merge\\s+into|truncate)\\s+(only\\s+)?` +
      `(${TABLES})\\b(?!\\s*\\.)`,
    'g',
  )

  const findWrites = (text: string): string[] => [...text.matchAll(WRITE)].map(([found]) => found)

  test('are written by src/ledger alone, and their totals by drizzle/objects/money/money.sql', () => {
    const writers = readFiles('{src,jobs,drizzle/objects}/**/*.{ts,sql}').filter(
      ({ text }) => findWrites(text).length > 0,
    )
    const strangers = writers
      .map(({ file }) => file)
      .filter((file) => !file.startsWith('src/ledger/') && file !== 'drizzle/objects/money/money.sql')
    assert.deepEqual(strangers, [])
    const totals = readFiles('drizzle/objects/money/money.sql').flatMap(({ text }) => findWrites(text))
    assert.deepEqual(
      totals.filter((write) => /\b(task|post|charge|charged_price)$/.test(write)),
      [],
    )
  })

  test('are looked for in every form of a write', () => {
    assert.deepEqual(
      findWrites("update task k set state = ''; insert  into charge; delete from\n  spend; update taskforce"),
      ['update task', 'insert  into charge', 'delete from\n  spend'],
    )
  })
})
