/** The schema in src/db/schema and the migrations in drizzle/ say the same. */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { after, before, describe, test } from 'node:test'
import { generateDrizzleJson, generateMigration } from 'drizzle-kit/api'
import type { Sql } from 'postgres'
import * as schema from '../../src/db/schema/index.ts'
import { createEmptyDatabase, createTestDatabase, type TestDatabase } from '../support/database.ts'
import { lasting } from '../support/lasting.ts'

const MIGRATIONS = new URL('../../drizzle/', import.meta.url)

describe('the schema', () => {
  let migrated: TestDatabase
  let declared: TestDatabase
  before(async () => {
    migrated = await createTestDatabase()
    declared = await createEmptyDatabase()
    // The functions that the tables stand on, then the tables as the declaration alone would make them.
    const functions = await readFile(new URL('0000_functions.sql', MIGRATIONS), 'utf8')
    const tables = await generateMigration(generateDrizzleJson({}), generateDrizzleJson(schema))
    for (const statement of [functions, ...tables]) await declared.sql.unsafe(statement)
  })
  after(async () => {
    await migrated.drop()
    await declared.drop()
  })

  const parts: Record<string, (sql: Sql) => PromiseLike<readonly object[]>> = {
    columns: (sql) => sql`
      select c.relname as table, a.attname as column, format_type(a.atttypid, a.atttypmod) as type,
        a.attnotnull as required, a.attidentity as identity, pg_get_expr(d.adbin, d.adrelid) as default
      from pg_attribute a join pg_class c on c.oid = a.attrelid
      left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
      where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
        and a.attnum > 0 and not a.attisdropped
      order by 1, 2`,
    constraints: (sql) => sql`
      select c.relname as table, k.conname as name, pg_get_constraintdef(k.oid) as definition
      from pg_constraint k join pg_class c on c.oid = k.conrelid
      where k.connamespace = 'public'::regnamespace and not c.relispartition
        and k.contype in ('c', 'f', 'p', 'u', 'x')
      order by 1, 2`,
    indexes: (sql) => sql`
      select i.tablename as table, i.indexname as name, replace(i.indexdef, ' ON ONLY ', ' ON ') as definition
      from pg_indexes i join pg_class c on c.oid = format('%I.%I', i.schemaname, i.tablename)::regclass
      where i.schemaname = 'public' and not c.relispartition
      order by 1, 2`,
  }
  for (const [part, read] of Object.entries(parts)) {
    test(`the ${part} of the migrated database are those that src/db/schema declares`, async () => {
      const rows = await read(migrated.sql)
      assert.ok(rows.length > 0)
      assert.deepEqual([...rows], [...(await read(declared.sql))])
    })
  }

  test('drizzle-kit generate would have nothing to add', async () => {
    const journal = JSON.parse(await readFile(new URL('meta/_journal.json', MIGRATIONS), 'utf8'))
    const number = String(journal.entries.at(-1).idx).padStart(4, '0')
    const snapshot = JSON.parse(await readFile(new URL(`meta/${number}_snapshot.json`, MIGRATIONS), 'utf8'))
    assert.deepEqual(await generateMigration(snapshot, generateDrizzleJson(schema)), [])
  })
})

describe('what people read', () => {
  const database = lasting(createTestDatabase)

  test('every table that people write, every view, and every column of these, has a comment', async () => {
    const named = await database.sql<{ name: string; relkind: string; isSilent: boolean }[]>`
      select concat_ws('.', c.relname, a.attname) as name, c.relkind, d.description is null as "isSilent"
      from pg_class c
      cross join lateral (
        select 0 as attnum, null as attname
        union all
        select a.attnum, a.attname from pg_attribute a where a.attrelid = c.oid and a.attnum > 0
          and not a.attisdropped
      ) a
      left join pg_description d
        on d.classoid = 'pg_class'::regclass and d.objoid = c.oid and d.objsubid = a.attnum
      where c.relnamespace = 'public'::regnamespace
        and (c.relkind = 'v' or c.relkind = 'r' and has_table_privilege('storerank_editor', c.oid, 'insert'))`
    assert.ok(new Set(named.map(({ relkind }) => relkind)).size === 2 && named.length > 500)
    assert.deepEqual(
      named.filter(({ isSilent }) => isSilent),
      [],
    )
  })
})
