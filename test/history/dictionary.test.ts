import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import { openDatabase } from '../../src/db/database.ts'
import { createDictionary, type SeenApp, type SeenApps } from '../../src/history/dictionary.ts'
import { openTestDatabase } from '../support/database.ts'
import { lasting } from '../support/lasting.ts'

const db = lasting(openTestDatabase)
beforeEach(() => db.sql`truncate app restart identity cascade`)

const seen = (appId: string, title: string | null = `App ${appId}`): SeenApp => ({
  appId,
  title,
  developer: null,
  icon: null,
  url: null,
})

const range = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, index) => seen(String(from + index)))

/** Of the ios_store. */
const ios = (...apps: SeenApp[]): SeenApps[] => [{ store: 'ios_store', apps }]

async function lastId(): Promise<number> {
  const [row] = await db.sql<{ last: number }[]>`select last_value as last from app_id_seq`
  return row?.last ?? 0
}

async function titleOf(appId: string): Promise<string | null | undefined> {
  const [row] = await db.sql<{ title: string | null }[]>`select title from app where app_id = ${appId}`
  return row?.title
}

test('the ids advance by exactly the apps that are new, whoever sees the others again', async () => {
  await createDictionary(db).resolveAppIds(ios(...range(1000, 1100)))
  assert.equal(await lastId(), 100)
  const another = createDictionary(db)
  const ids = await another.resolveAppIds(ios(...range(1050, 1110)))
  assert.equal(await lastId(), 110)
  assert.equal(new Set(range(1050, 1110).map(({ appId }) => ids('ios_store', appId))).size, 60)
  await another.resolveAppIds(ios(...range(1000, 1110)))
  assert.equal(await lastId(), 110)
})

test('an app that comes twice in a batch, or in both stores, has one id in each', async () => {
  const android: SeenApps = { store: 'android_store', apps: [seen('1000')] }
  const idOf = await createDictionary(db).resolveAppIds([...ios(seen('1000'), seen('1000')), android])
  assert.deepEqual([idOf('ios_store', '1000'), idOf('android_store', '1000')].sort(), [1, 2])
  assert.equal(await lastId(), 2)
})

test('learners at the same moment, with the same apps in other orders, do not deadlock', async () => {
  const other = openDatabase(db.url)
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
        learner.resolveAppIds(
          ios(...(index % 2 === 0 ? (batches[index] ?? []) : (batches[index] ?? []).reverse())),
        ),
      ),
    )
    const stored = await db.sql<{ id: number; appId: string }[]>`select id, app_id as "appId" from app`
    const truth = new Map(stored.map(({ appId, id }) => [appId, id]))
    for (const [index, idOf] of learned.entries()) {
      for (const { appId } of batches[index] ?? []) assert.equal(idOf('ios_store', appId), truth.get(appId))
    }
  }
  const [row] = await db.sql`select count(*) as apps from app`
  assert.equal(await lastId(), row?.apps)
  await other.close()
})

test('a dictionary that fails to store an app does not remember it', async () => {
  const dictionary = createDictionary(db)
  await assert.rejects(dictionary.resolveAppIds(ios(seen('1000', 'A\0B'))), { code: '22021' })
  const ids = await dictionary.resolveAppIds(ios(seen('1000')))
  const [row] = await db.sql`select id from app`
  assert.equal(ids('ios_store', '1000'), row?.id)
})

test('a title is taken when there is none yet, and then changes at most daily', async () => {
  const nowMs = Date.now()
  let laterMs = 0
  const dictionary = createDictionary(db, () => nowMs + laterMs)
  await db.sql`insert into app (store, app_id) values ('ios_store', '1000')`
  await dictionary.resolveAppIds(ios(seen('1000', 'Old')))
  assert.equal(await titleOf('1000'), 'Old')

  await createDictionary(db).resolveAppIds(ios(seen('1000', 'Other country')))
  await dictionary.resolveAppIds(ios(seen('1000', 'Other country')))
  assert.equal(await titleOf('1000'), 'Old')

  laterMs = 21 * 3_600_000
  await db.sql`update app set updated_at = updated_at - interval '21 hours'`
  await dictionary.resolveAppIds(ios(seen('1000', 'New')))
  assert.equal(await titleOf('1000'), 'New')
  await createDictionary(db).resolveAppIds(ios(seen('1000', null)))
  assert.equal(await titleOf('1000'), 'New')
})

test('who had an app before is kept with the day of the change', async () => {
  const by = (developer: string | null) => ios({ ...seen('1000'), developer })
  for (const developer of [null, 'First', null, 'Second', 'Second', 'Third']) {
    await db.sql`update app set updated_at = updated_at - interval '21 hours'`
    await createDictionary(db).resolveAppIds(by(developer))
  }
  const [row] = await db.sql`
    select developer, former_developers as former, (storerank_now() at time zone 'UTC')::date::text as today
    from app`
  const until = row?.today
  assert.deepEqual(
    [row?.developer, row?.former],
    [
      'Third',
      [
        { developer: 'First', until },
        { developer: 'Second', until },
      ],
    ],
  )
})

test('what has not changed is not written again', async () => {
  await createDictionary(db).resolveAppIds(ios(seen('1000')))
  await db.sql`update app set updated_at = updated_at - interval '21 hours'`
  const [before] = await db.sql`select xmin::text as version, updated_at from app`
  await createDictionary(db).resolveAppIds(ios(seen('1000')))
  const [after] = await db.sql`select xmin::text as version, updated_at from app`
  assert.deepEqual({ ...after }, { ...before })
})

test('an app in the cache costs no statement, and the cache begins again past its bound', async () => {
  const dictionary = createDictionary(db, Date.now, 100)
  await db.sql`insert into app (store, app_id) values ('ios_store', '1000')`
  await dictionary.resolveAppIds(ios(seen('1000', null)))
  await dictionary.resolveAppIds(ios(seen('1000', 'Title')))
  assert.equal(await titleOf('1000'), null)
  await dictionary.resolveAppIds(ios(...range(2000, 2100)))
  await dictionary.resolveAppIds(ios(seen('1000', 'Title')))
  assert.equal(await titleOf('1000'), 'Title')
})

test('ids that a batch has resolved stay, however often the cache begins again meanwhile', async () => {
  const dictionary = createDictionary(db, Date.now, 10)
  const idOf = await dictionary.resolveAppIds(ios(...range(1000, 1008)))
  const ids = range(1000, 1008).map(({ appId }) => idOf('ios_store', appId))
  await dictionary.resolveAppIds(ios(...range(2000, 2010)))
  await dictionary.resolveAppIds(ios(...range(3000, 3010)))
  assert.deepEqual(
    range(1000, 1008).map(({ appId }) => idOf('ios_store', appId)),
    ids,
  )
  assert.equal(new Set(ids).size, 8)
})
