/** A person publishes all tables, for a replica or a warehouse: whatever is deleted from has an identity. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { migrate } from '../../src/db/migrate.ts'
import { planPosts, watch, work } from '../post/posting.ts'
import { collect } from '../support/stages.ts'
import { createWorld } from '../support/world.ts'

test('a publication of all tables refuses no change', async (t) => {
  const world = await createWorld()
  t.after(() => world.close())
  await world.openRunner()
  const { sql } = world.db
  await sql`create publication everything for all tables`
  await watch(world, ['yoga', 'pilates'])
  const [postId] = await planPosts(world)
  await work(world, postId ?? '')
  assert.equal((await collect(world)).stored, 2)
  await sql`select fold_spend()`
  const names = await sql<{ name: string }[]>`
    select c.oid::regclass::text as name from pg_class c
    where c.relkind in ('r', 'p') and c.relnamespace::regnamespace::text in ('public', 'drizzle', 'pgboss')
      and c.relname <> '__drizzle_migrations'
    order by 1`
  assert.ok(names.length > 40)
  const bare = await sql<{ name: string }[]>`
    select c.oid::regclass::text as name from pg_class c
    where c.oid = any(${names.map(({ name }) => name)}::text[]::regclass[]) and c.relreplident = 'd'
      and not exists (select from pg_index i where i.indrelid = c.oid and i.indisprimary)`
  assert.deepEqual(
    bare.map(({ name }) => name),
    [],
  )
  await sql`update drizzle.objects set hash = 'another'`
  assert.equal(await migrate(world.db.url), true)
})
