/** Values reach the database as parameters: SQL is built from text in the few places that are named here. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { glob } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'

const PROJECT = join(import.meta.dirname, '..', '..')

/** Every line of the files that says it, as `file: line`. */
async function linesOf(pattern: string, says: RegExp): Promise<string[]> {
  const found: string[] = []
  for await (const file of glob(pattern, { cwd: PROJECT })) {
    for (const line of readFileSync(join(PROJECT, file), 'utf8').split('\n'))
      if (says.test(line)) found.push(`${file}: ${line.trim()}`)
  }
  return found.sort()
}

test(
  'the program runs text as SQL for migrations, Citus, the queue, imports, dumps, the kinds of alerts, ' +
    'trials and the demo, and for a person: `storerank sql`, `storerank export`',
  async () => {
    const all = await linesOf(
      '{src,jobs}/**/*.ts',
      /\.unsafe\(|\bsession\.(ask|describe|readCells|copyIn|copyOut)\(|\bsql\.raw\b/,
    )
    // Tables are written when the project is worked on: what runs is their migration.
    const lines = all.filter((line) => !line.startsWith('src/db/schema/'))
    assert.deepEqual(
      [...new Set(lines.map((line) => line.split(':')[0]))],
      [
        'src/alerts/run.ts',
        'src/alerts/trial.ts',
        'src/cli/commands/sql.ts',
        'src/cli/sql-error.ts',
        'src/db/call-window.ts',
        'src/db/distributed/distribute.ts',
        'src/db/migrate.ts',
        'src/db/objects.ts',
        'src/db/roles.ts',
        'src/db/sql.ts',
        'src/db/transaction.ts',
        'src/demo/month.ts',
        'src/embedded/dump.ts',
        'src/history/tablespace.ts',
        'src/queue/queue.ts',
        'src/report/export/export.ts',
      ],
    )
  },
)

test('what the database builds itself goes through format, with names and values quoted', async () => {
  const executed = await linesOf('drizzle/**/*.sql', /^\s*execute (?!function|procedure)/i)
  assert.ok(executed.length > 0)
  for (const line of executed) assert.match(line, /: execute format\('/)
  const placed = await linesOf('drizzle/**/*.sql', /execute format\(.*%s/)
  // Names that the catalog has quoted, regprocedure, regclass, regnamespace, and expressions that it has
  // written: pg_get_expr.
  assert.deepEqual(
    placed.filter((line) => !/\b(function|schema|grant) %s|to_jsonb\(%s\)', missing\.value/.test(line)),
    [],
  )
})
