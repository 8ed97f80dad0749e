/** An error that ended a command is told with everything that the database said of it. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { describeFailure } from '../../src/cli/failure.ts'
import { UnavailableError } from '../../src/errors.ts'
import { callCommand } from '../support/command.ts'
import { createEmptyDatabase } from '../support/database.ts'

describe('what Postgres says of an error is told', () => {
  const facts = {
    severity: 'ERROR',
    code: '23505',
    detail: 'Key (a)=(1) exists.',
    hint: 'Look.',
    where: 'line 1\n of x',
  }
  const expected = 'detail: Key (a)=(1) exists.; hint: Look.; where: line 1 of x'

  test('in the words of both drivers', () => {
    const ours = {
      ...facts,
      table_name: 'task',
      column_name: 'a',
      constraint_name: 'once',
      query: 'insert\n into task',
    }
    const told = describeFailure(Object.assign(new Error('duplicate key'), ours), false)
    assert.deepEqual(told.split('\n').slice(0, 2), [
      'storerank failed and did not expect to: Error: duplicate key',
      `  SQLSTATE: 23505; table: task; column: a; constraint: once; ${expected}; statement: insert into task`,
    ])
    const theirs = { ...facts, table: 'job', constraint: 'job_pkey' }
    assert.ok(
      describeFailure(Object.assign(new Error('duplicate key'), theirs), false).includes(
        `SQLSTATE: 23505; table: job; constraint: job_pkey; ${expected}\n`,
      ),
    )
  })

  test('below the errors that wrap it', () => {
    const cause = Object.assign(new Error('no such column'), {
      severity: 'ERROR',
      code: '42703',
      hint: 'Did you mean b?',
    })
    const error = new Error('Failed query', { cause: new TypeError('outer', { cause }) })
    const lines = describeFailure(error, false).split('\n')
    assert.deepEqual(lines.slice(0, 3), [
      'storerank failed and did not expect to: Error: Failed query',
      '  its cause: outer',
      '  its cause: no such column; SQLSTATE: 42703; hint: Did you mean b?',
    ])
  })

  test('and with stacks at debug, of an expected error as well', () => {
    const cause = Object.assign(new Error('deadlock detected'), { severity: 'ERROR', code: '40P01' })
    const told = describeFailure(new UnavailableError('Not now.', { cause }), true)
    assert.match(
      told,
      /^UnavailableError: Not now\.\n +at [\s\S]*\[cause\]: Error: deadlock detected\n +at [\s\S]*40P01/,
    )
  })
})

test('a migration that fails says why, and changes nothing', async (t) => {
  const database = await createEmptyDatabase()
  t.after(() => database.drop())
  await database.sql`create table project (mine text)`
  const env = { DATABASE_URL: database.url, LOG_LEVEL: 'error' }
  const { code, stderr } = await callCommand(['migrate'], { env })
  assert.equal(code, 1)
  assert.match(
    stderr,
    /relation "project" already exists\n {2}SQLSTATE: 42P07; .*statement: CREATE TABLE "project"/,
  )
  assert.equal(
    (await database.sql`select from pg_class where relnamespace = 'public'::regnamespace`).count,
    1,
  )
})
