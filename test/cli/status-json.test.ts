/**
 * `status --json` prints what docs/operations.md says, field by field: no field more, none less, and null
 * only where it is said.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { callCommand, makeCommandHome } from '../support/command.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'

const PAGE = readFileSync(join(import.meta.dirname, '../../docs/operations.md'), 'utf8')
const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

/** What stands in a field: a type, or of a field with a list of values the value itself. */
type Shape = Map<string, Set<string>>

type Types = [path: string, types: Set<string>]

/** What a value of the example says: its type, or the list of its values; of an object, its fields. */
function readTypes(value: unknown, path: string): Types[] {
  if (typeof value === 'string') return [[path, new Set(value.split(/, | or /))]]
  if (Array.isArray(value)) return readTypes(value[0], `${path}[]`)
  return Object.entries(value as object).flatMap(([key, field]) => {
    const [name = '', isNullable] = key.split(' or ')
    const at = path === '' ? name : `${path}.${name}`
    const own: Types[] = isNullable === undefined ? [] : [[at, new Set(['object', 'null'])]]
    return [...own, ...readTypes(field, at)]
  })
}

function readDocumented(): Shape {
  const [, example = ''] = /^### Status as JSON\n.*?^```json\n(.*?)^```/ms.exec(PAGE) ?? []
  return new Map(readTypes(JSON.parse(example), ''))
}

const DOCUMENTED = readDocumented()

function nameType(path: string, value: unknown): string {
  if (value === null) return 'null'
  if (typeof value !== 'string') return typeof value
  if (DOCUMENTED.get(path)?.has(value)) return value
  return INSTANT.test(value) ? 'instant' : 'text'
}

/**
 * Adds each field below `value` to `shape`. An object is told by its fields, unless it may be null as well.
 */
function look(value: unknown, path: string, shape: Shape): void {
  if (Array.isArray(value)) {
    for (const each of value) look(each, `${path}[]`, shape)
    return
  }
  const isObject = typeof value === 'object' && value !== null
  if (!isObject || DOCUMENTED.has(path)) {
    shape.set(path, (shape.get(path) ?? new Set()).add(nameType(path, value)))
  }
  if (!isObject) return
  for (const [key, field] of Object.entries(value)) look(field, path === '' ? key : `${path}.${key}`, shape)
}

const sorted = (shape: Shape) => [...shape].map(([path, types]) => [path, [...types].sort()]).sort()

/** Something of everything that a status may tell. */
async function fill({ sql }: TestDatabase): Promise<void> {
  await sql`
    insert into keyword_watch (project, store, keyword, location_code, language_code)
    select 'p', 'ios_store', 'yoga ' || n, 2840, 'en' from generate_series(1, 30) n`
  await sql`update project set daily_usd = 1, monthly_usd = 2`
  await sql`insert into account_usage (login, balance_micros, day_limit_micros, prices)
    values ('test', 0, 1000000, '[]')`
  await sql`
    insert into job_run (job, slot, state, started_at, ended_at, error)
    select job, now() - interval '2 minutes', state, case when state in ('running', 'done', 'failed')
      then now() - interval '1 minute' end,
      case when state in ('done', 'failed') then now() end, case when state in ('failed', 'missed')
        then 'No.' end
    from (values ('track', 'done'), ('collect', 'failed'), ('reconcile', 'running'), ('account', 'waiting'),
      ('status', 'missed'))
      j (job, state)`
  const targets = await sql<{ id: number }[]>`
    insert into target (store, function, subject, location_code, language_code)
    select 'ios_store', 'app_searches', 'told ' || n, 2840, 'en' from generate_series(1, 4) n returning id`
  const [planned, posting, posted, cut] = targets.map(({ id }) => id)
  const [post] = await sql<{ id: string }[]>`
    insert into post (store, function, state, send_before)
      values ('ios_store', 'app_searches', 'unknown', now()) returning id`
  for (const [target, state] of [
    [planned, 'planned'],
    [posting, 'posting'],
    [posted, 'posted'],
  ] as const) {
    await sql`
      insert into task (target_id, slot, slot_ends_at, state, priority, estimate_micros, payers, post_id,
        not_before)
      select ${target ?? 0}, now(), now() + interval '1 day', ${state}, 1, 1200, array[id],
        ${state === 'posting' ? (post?.id ?? '') : null},
        case ${state}::text when 'planned' then now() + interval '1 hour' end
      from project`
  }
  await sql`
    insert into due_slot (target_id, slot, ends_at, cut, price_micros, priority, captured_at, askers)
    values (${cut ?? 0}, now(), now() + interval '1 day', 'overall_budget', 1200, 1, '-infinity', 1)`
  await sql`insert into service_status (api, endpoint, status)
    values ('app_data', 'task_post', 'major_outage')`
  await sql`update ledger set recover_from = clock_timestamp() - interval '1 hour'`
}

test('status --json has the fields of docs/operations.md, with their types and values', async (t) => {
  const home = await makeCommandHome(t)
  const database = await createTestDatabase()
  t.after(() => database.drop())
  const env = { DATABASE_URL: database.url, MAX_USD_PER_DAY: '5', MAX_USD_PER_MONTH: '50' }
  const shape: Shape = new Map()
  const ask = async (...args: string[]) => {
    const { stdout, stderr } = await callCommand(['status', '--json', ...args], { home, env })
    assert.notEqual(stdout, '', stderr)
    return JSON.parse(stdout)
  }

  const empty = await ask()
  look(empty, '', shape)
  await fill(database)
  const full = await ask()
  look(full, '', shape)

  assert.ok(DOCUMENTED.size > 30)
  assert.deepEqual(sorted(shape), sorted(DOCUMENTED))
  assert.deepEqual(Object.keys(empty), Object.keys(full), 'what has nothing is there and empty')
  assert.deepEqual(
    full.budgets.map(({ setBy, project, period }: Record<string, unknown>) => [setBy, project, period]),
    [
      ['settings', null, 'day'],
      ['settings', null, 'month'],
      ['account', null, 'day'],
      ['account', null, 'balance'],
      ['project', 'p', 'day'],
      ['project', 'p', 'month'],
    ],
  )
  assert.deepEqual(await ask('--check'), { troubles: full.troubles })
})

test('the tables of status keep their words for people', async (t) => {
  const home = await makeCommandHome(t)
  const database = await createTestDatabase()
  t.after(() => database.drop())
  await fill(database)
  const { stdout } = await callCommand(['status'], { home, env: { DATABASE_URL: database.url } })
  for (const words of ['cut by the budget', "the account's balance", 'project p, day'])
    assert.ok(stdout.includes(words), stdout)
})
