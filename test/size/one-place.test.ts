/**
 * Who adds a command, a setting, a kind of alerts, a figure or a view touches one file: here each is added to
 * a copy of the project, and everything that speaks of it follows.
 */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { callCommand } from '../support/command.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'

const PROJECT = resolve(import.meta.dirname, '../..')
const COPIED = ['src', 'jobs', 'drizzle', 'docs', 'test/docs', 'README.md', 'package.json']

const COMMAND = `
import { command } from '../command.ts'

export const greet = command({
  group: 'Look',
  summary: 'say what GREETING is',
  examples: ['storerank greet'],
  run: async (_, { config }) => ({ parts: [config.greeting] }),
})
`

const SETTING = `
  ...group('Manners', {
    greeting: setting('GREETING', {
      help: 'What \`storerank greet\` says.',
      schema: rule('must be one word', (text) => (/^\\w+$/.test(text) ? text : null)),
      default: 'Hello',
    }),
  }),
`

const KIND = `
const dayBegun: AlertKind = {
  name: 'day_begun',
  tells: 'a day that has begun',
  takes: [],
  threshold: { counts: 'hours of it', from: 0, to: 24 },
  source: OF_CLOCK,
  select: \`select r.id as rule_id, 'day' as subject, storerank_now() as slot, r.threshold as after
    from rule r where r.kind = 'day_begun'\`,
  sentence: ({ after }) => \`A day has begun, \${after} hours ago.\`,
}
`

const FIGURE = `
    open_kinds: { help: 'Kinds of open work.', value: (open) => Object.keys(open).length },
`
const TROUBLE = `
    nothing_open: ({ planned }) => (planned.count === 0 ? 'Nothing is planned.' : null),
`

const VIEW = `
--- What each project is told.
--- .says: A greeting.
create or replace view greeting as
select k.name as project, 'Hello, ' || k.name as says from project k;
`

let copy: string
let database: TestDatabase

/** In the copy, as \`storerank …\` there. */
const call = (args: string[], env: Record<string, string> = {}) =>
  callCommand(args, { env: { DATABASE_URL: database.url, LOG_LEVEL: 'error', ...env }, main })
let main: URL

function insertBefore(file: string, mark: string, text: string): void {
  const before = readFileSync(join(copy, file), 'utf8')
  assert.ok(before.includes(mark), file)
  writeFileSync(
    join(copy, file),
    before.replace(mark, () => text + mark),
  )
}

before(async () => {
  copy = mkdtempSync(join(tmpdir(), 'storerank-one-place-'))
  for (const path of COPIED) cpSync(join(PROJECT, path), join(copy, path), { recursive: true })
  symlinkSync(join(PROJECT, 'node_modules'), join(copy, 'node_modules'))
  writeFileSync(join(copy, 'src/cli/commands/greet.ts'), COMMAND)
  insertBefore('src/settings.ts', "\n  ...group('Database', {", SETTING)
  insertBefore('src/alerts/kinds/clock.ts', 'export const CLOCK_KINDS', KIND)
  insertBefore('src/alerts/kinds/clock.ts', 'budgetUsed, ', 'dayBegun, ')
  insertBefore('src/monitor/sources.ts', '      held_posts: countOf(', FIGURE)
  insertBefore('src/monitor/sources.ts', '      not_posted: (', TROUBLE)
  writeFileSync(join(copy, 'drizzle/objects/ranks/greeting.sql'), VIEW)
  execFileSync(process.execPath, ['test/docs/write.ts'], { cwd: copy })
  main = new URL(`file://${join(copy, 'src/cli/main.ts')}`)
  database = await createTestDatabase()
  assert.deepEqual(await call(['migrate']).then(({ code, stderr }) => [code, stderr]), [0, ''])
})
after(async () => {
  await database?.drop()
  rmSync(copy, { recursive: true, force: true })
})

describe('one file is enough', () => {
  test('for a command: it runs, and help and the manual name it', async () => {
    assert.equal((await call(['greet'])).stdout, 'Hello\n')
    assert.match((await call(['--help'])).stdout, /^ +greet +say what GREETING is$/m)
    assert.match(
      readFileSync(join(copy, 'docs/operations.md'), 'utf8'),
      /^\| `greet` \| say what GREETING is \|/m,
    )
  })

  test('for a setting: it is read, refused, written by init, and in the manual', async () => {
    assert.equal((await call(['greet'], { GREETING: 'Servus' })).stdout, 'Servus\n')
    const refused = await call(['greet'], { GREETING: 'good day' })
    assert.equal(refused.code, 2)
    assert.match(refused.stderr, /GREETING must be one word/)
    const file = join(copy, 'settings')
    await call(['init', file])
    assert.match(readFileSync(file, 'utf8'), /^#GREETING='Hello'$/m)
    assert.match(readFileSync(join(copy, 'docs/operations.md'), 'utf8'), /^\| `GREETING` \| `Hello` \|/m)
  })

  test('for a kind of alerts: rules take it, refuse what it does not take, and it is told', async () => {
    const add = (columns: string, values: string) =>
      call(['sql', `insert into alert_rule (project, name, kind${columns}) values (${values})`])
    await call(['sql', `insert into project (name) values ('fitness')`])
    assert.match((await add('', "'fitness', 'x', 'day_begun'")).stderr, /threshold/)
    assert.match((await add(', threshold', "'fitness', 'x', 'day_begun', 25")).stderr, /24/)
    assert.match((await add(', threshold, top', "'fitness', 'x', 'day_begun', 2, 3")).stderr, /\btop\b/)
    assert.equal((await add(', threshold', "'fitness', 'x', 'day_begun', 2")).code, 0)
    const { evaluateService } = await import(new URL('../alerts/run.ts', main).href)
    const { openDatabase } = await import(new URL('../db/database.ts', main).href)
    const db = openDatabase(database.url)
    const project = { id: 1, name: 'fitness', timezone: 'UTC', enabled: true }
    await db.begin((tx: unknown) =>
      evaluateService(tx, project, { maxDayMicros: null, maxMonthMicros: null }),
    )
    await db.close()
    assert.match((await call(['digest'])).stdout, /^Warning: A day has begun, 2 hours ago\.$/m)
    assert.match(readFileSync(join(copy, 'docs/alerts.md'), 'utf8'), /^\| `day_begun` \| a day that has/m)
  })

  test('for a figure and what is wrong about it: metrics and status --check have them', async () => {
    assert.equal((await call(['status', '--check'])).stdout, 'nothing_open: Nothing is planned.\n')
    const { createMetrics } = await import(new URL('../monitor/metrics.ts', main).href)
    const { openDatabase } = await import(new URL('../db/database.ts', main).href)
    const db = openDatabase(database.url)
    const budget = { maxDayMicros: null, maxMonthMicros: null, maxRunMicros: null }
    const text: string = await createMetrics(db, { budget, callsPerMinute: 60 }).render()
    await db.close()
    assert.match(text, /^# HELP storerank_open_kinds Kinds of open work\.$/m)
    assert.match(text, /^storerank_troubles\{kind="nothing_open"\} 1$/m)
  })

  test('for a view: it answers, with what it means and who may read it', async () => {
    const { stdout } = await call(['sql', 'select says from greeting', '--csv'])
    assert.equal(stdout, 'says\n"Hello, fitness"\n')
    const [comment] = await database.sql`
      select obj_description('greeting'::regclass) as view,
        col_description('greeting'::regclass, 1) as project,
        has_table_privilege('storerank_reader', 'greeting', 'select') as is_granted`
    assert.deepEqual(comment, {
      view: 'What each project is told.',
      project: 'The project.',
      is_granted: true,
    })
  })
})
