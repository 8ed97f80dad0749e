import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { type Database, openDatabase } from '../../src/db/database.ts'
import { createDictionary, type SeenApp } from '../../src/history/dictionary.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'

let database: TestDatabase
let db: Database
before(async () => {
  database = await createTestDatabase()
  db = openDatabase(database.url)
})
after(async () => {
  await db.close()
  await database.drop()
})
beforeEach(() => db.sql`truncate app restart identity cascade`)

const seen = (appId: string, title: string | null = `App ${appId}`): SeenApp => ({
  store: 'ios_store',
  appId,
  title,
  developer: null,
  icon: null,
  url: null,
})

const range = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, index) => seen(String(from + index)))

async function lastId(): Promise<number> {
  const [row] = await db.sql<{ last: number }[]>`select last_value as last from app_id_seq`
  return row?.last ?? 0
}

async function titleOf(appId: string): Promise<string | null | undefined> {
  const [row] = await db.sql<{ title: string | null }[]>`select title from app where app_id = ${appId}`
  return row?.title
}

test('the ids advance by exactly the apps that are new, whoever sees the others again', async () => {
  await createDictionary(db).resolveAppIds(range(1000, 1100))
  assert.equal(await lastId(), 100)
  const another = createDictionary(db)
  const ids = await another.resolveAppIds(range(1050, 1110))
  assert.equal(await lastId(), 110)
  assert.equal(ids.size, 60)
  await another.resolveAppIds(range(1000, 1110))
  assert.equal(await lastId(), 110)
})

test('an app that comes twice in a batch, or in both stores, has one id in each', async () => {
  const android: SeenApp = { ...seen('1000'), store: 'android_store' }
  const ids = await createDictionary(db).resolveAppIds([seen('1000'), android, seen('1000')])
  assert.deepEqual([...ids.keys()].sort(), ['android_store 1000', 'ios_store 1000'])
  assert.equal(new Set(ids.values()).size, 2)
  assert.equal(await lastId(), 2)
})

test('learners at the same moment, with the same apps in other orders, agree and do not deadlock', async () => {
  const other = openDatabase(database.url)
  const learners = [db, other, db, other].map((each) => createDictionary(each))
  for (let round = 0; round < 5; round += 1) {
    const from = 1000 + round * 100
    const batches = [
      range(from, from + 200),
      range(from + 50, from + 250),
      range(from, from + 150),
      range(from, from + 250),
    ]
    const learned = await Promise.all(
      learners.map((learner, index) =>
        learner.resolveAppIds(index % 2 === 0 ? (batches[index] ?? []) : (batches[index] ?? []).reverse()),
      ),
    )
    const stored = await db.sql<
      { id: number; key: string }[]
    >`select id, store || ' ' || app_id as key from app`
    const truth = new Map(stored.map((row) => [row.key, row.id]))
    for (const ids of learned) for (const [key, id] of ids) assert.equal(id, truth.get(key))
  }
  const [row] = await db.sql`select count(*) as apps from app`
  assert.equal(await lastId(), row?.apps)
  await other.close()
})

test('a dictionary that fails to store an app does not remember it', async () => {
  const dictionary = createDictionary(db)
  await assert.rejects(dictionary.resolveAppIds([seen('1000', 'A\0B')]), { code: '22021' })
  const ids = await dictionary.resolveAppIds([seen('1000')])
  const [row] = await db.sql`select id from app`
  assert.equal(ids.get('ios_store 1000'), row?.id)
})

test('a title is taken when there is none yet, and then changes at most daily', async () => {
  const nowMs = Date.now()
  let laterMs = 0
  const dictionary = createDictionary(db, () => nowMs + laterMs)
  await db.sql`select app_of('ios_store', '1000')`
  await dictionary.resolveAppIds([seen('1000', 'Old')])
  assert.equal(await titleOf('1000'), 'Old')

  await createDictionary(db).resolveAppIds([seen('1000', 'Other country')])
  await dictionary.resolveAppIds([seen('1000', 'Other country')])
  assert.equal(await titleOf('1000'), 'Old')

  laterMs = 21 * 3_600_000
  await db.sql`update app set updated_at = updated_at - interval '21 hours'`
  await dictionary.resolveAppIds([seen('1000', 'New')])
  assert.equal(await titleOf('1000'), 'New')
  await createDictionary(db).resolveAppIds([seen('1000', null)])
  assert.equal(await titleOf('1000'), 'New')
})

test('what has not changed is not written again', async () => {
  await createDictionary(db).resolveAppIds([seen('1000')])
  await db.sql`update app set updated_at = updated_at - interval '21 hours'`
  const [before] = await db.sql`select xmin::text as version, updated_at from app`
  await createDictionary(db).resolveAppIds([seen('1000')])
  const [after] = await db.sql`select xmin::text as version, updated_at from app`
  assert.deepEqual({ ...after }, { ...before })
})

test('an app in the cache costs no statement, and the cache begins again past its bound', async () => {
  const dictionary = createDictionary(db, Date.now, 100)
  await db.sql`select app_of('ios_store', '1000')`
  await dictionary.resolveAppIds([seen('1000', null)])
  await dictionary.resolveAppIds([seen('1000', 'Title')])
  assert.equal(await titleOf('1000'), null)
  await dictionary.resolveAppIds(range(2000, 2100))
  await dictionary.resolveAppIds([seen('1000', 'Title')])
  assert.equal(await titleOf('1000'), 'Title')
})
