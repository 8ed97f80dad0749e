import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { startSandbox } from '../../src/sandbox/server.ts'
import { type Caller, DAY_MS, type Json, measure, openSandbox, organicIds, stamp } from './caller.ts'

const DAY = '2026-03-10'
const YOGA = '1480010017'
const MEDITATION = '1480010025'
const FITNESS = '1480010033'
const MATHS = '1480010058'
const INFO = { name: 'app_info' }
const REVIEWS = { name: 'app_reviews' }
const at = (appId: string, fields: object) => ({ day: DAY, store: 'ios_store' as const, appId, ...fields })

/** Ten days on. */
const LATER = new Date(Date.parse(DAY) + 10 * DAY_MS).toISOString().slice(0, 10)

const EVENTS = [
  at(FITNESS, { launch: true }),
  at(YOGA, { places: 20, words: ['pilates'], overDays: 4 }),
  at(MEDITATION, { places: -99 }),
  at(FITNESS, { paid: true, words: ['numberwren'] }),
  { ...at('*', { shuffle: 1 }), day: LATER },
  at(MATHS, {
    version: '77.1.0',
    title: 'Numberwren Anew',
    updateNotes: 'All is new.',
    description: 'Anew.',
    stars: -3,
  }),
]

describe('events', () => {
  let caller: Caller
  const owner: (() => unknown)[] = []
  before(async () => {
    caller = await openSandbox({ after: (end) => owner.push(end) }, { readyMs: 0, events: EVENTS })
  })
  after(async () => {
    for (const end of owner) await end()
  })

  /** On a day counted from that of the events. */
  const on = async (
    day: number,
    task: Record<string, unknown>,
    kind: { name?: string } = {},
  ): Promise<Json> => {
    caller.clock.nowMs = Date.parse(DAY) + day * DAY_MS
    return measure(caller, task, kind)
  }
  const rankOn = async (day: number, keyword: string, appId: string): Promise<number> =>
    organicIds(await on(day, { keyword })).indexOf(appId) + 1

  test('an app is found by nothing before it is launched, not even by its id', async () => {
    assert.equal(await rankOn(-1, 'home workout', FITNESS), 0)
    assert.equal(await on(-1, { app_id: FITNESS }, INFO), null)
    assert.ok((await rankOn(0, 'home workout', FITNESS)) > 0)
    assert.equal((await on(0, { app_id: FITNESS }, INFO)).items[0].app_id, FITNESS)
  })

  test('an app advertises above all results, from its day on, in searches for the words alone', async () => {
    const paidOn = async (day: number, keyword: string) => {
      const { items } = await on(day, { keyword })
      return items.filter(({ type }: Json) => type.endsWith('_paid')).map((item: Json) => item.app_id)
    }
    assert.equal((await paidOn(-1, 'numberwren')).includes(FITNESS), false)
    assert.equal((await paidOn(0, 'numberwren app'))[0], FITNESS)
    assert.equal((await on(0, { keyword: 'numberwren' })).items[0].app_id, FITNESS)
  })

  test('an app falls by equal parts, and only in searches for the words', async () => {
    const falls = []
    for (const day of [-1, 0, 1, 2, 3, 4]) falls.push(await rankOn(day, 'pilates', YOGA))
    const [before = 0, first = 0, , , last = 0, beyond = 0] = falls
    assert.ok(Math.abs(first - before - 5) <= 2, falls.join(' '))
    assert.ok(Math.abs(last - before - 20) <= 2, falls.join(' '))
    assert.ok(Math.abs(beyond - last) <= 1, 'it goes no further than that')
    assert.ok(Math.abs((await rankOn(4, 'yoga', YOGA)) - (await rankOn(-1, 'yoga', YOGA))) <= 2)
  })

  test('an app climbs no higher than the first place, and no place is lost or taken twice', async () => {
    const ids = organicIds(await on(0, { keyword: 'meditation' }))
    assert.equal(ids[0], MEDITATION)
    assert.equal(new Set(ids).size, ids.length)
  })

  test('a release changes the page, the line in a search and the reviews, from its day on', async () => {
    const page = async (day: number) => (await on(day, { app_id: MATHS }, INFO)).items[0]
    const old = await page(-1)
    assert.notEqual(old.version, '77.1.0')
    const { version, title, update_notes, description, last_update_date } = await page(5)
    assert.deepEqual(
      { version, title, update_notes, description, last_update_date },
      {
        version: '77.1.0',
        title: 'Numberwren Anew',
        update_notes: 'All is new.',
        description: 'Anew.',
        last_update_date: stamp(Date.parse(DAY)),
      },
    )
    const found = (await on(5, { keyword: 'math' })).items.find(({ app_id }: Json) => app_id === MATHS)
    assert.equal(found.title, 'Numberwren Anew')
    // Whichever answer of a day comes first, it says the same of an app.
    assert.equal((await on(5, { app_id: MATHS, depth: 100 }, REVIEWS)).title, 'Numberwren Anew')
    const { items } = await on(5, { app_id: MATHS, depth: 50 }, REVIEWS)
    const stars = (isNew: boolean) =>
      items
        .filter(({ timestamp }: Json) => timestamp >= stamp(Date.parse(DAY)) === isNew)
        .map(({ rating }: Json) => rating.value)
    assert.ok(Math.max(...stars(true)) <= 3, stars(true).join(' '))
    assert.ok(Math.min(...stars(false)) >= 3, stars(false).join(' '))
    assert.ok((await page(20)).rating.value < old.rating.value - 0.3)
  })

  test('a store that ranks by other rules moves everybody, but no flagship app', async () => {
    const moved = async (from: number, to: number) => {
      const [was = [], is = []] = [
        await on(from, { keyword: 'yoga' }),
        await on(to, { keyword: 'yoga' }),
      ].map(organicIds)
      const moves = was
        .filter((id) => is.includes(id))
        .map((id) => Math.abs(is.indexOf(id) - was.indexOf(id)))
      return moves.reduce((sum, places) => sum + places, 0) / moves.length
    }
    const [usual, then, after] = [await moved(8, 9), await moved(9, 10), await moved(10, 11)]
    assert.ok(then > 3 * usual && then > 3 * after, `${usual}, ${then}, ${after}`)
    assert.ok(Math.abs((await rankOn(10, 'yoga', YOGA)) - (await rankOn(9, 'yoga', YOGA))) <= 2)
  })

  test('an event of an app that the store does not have is refused at the start', async () => {
    await assert.rejects(
      startSandbox({ events: [at('123456', { launch: true })] }),
      /names the app 123456, which the ios_store does not have/,
    )
    await assert.rejects(startSandbox({ events: [at(YOGA, { rank: 3 })] }), /rank/)
  })
})

test('a clock that is told to stand still does, and goes again', async (t) => {
  const caller = await openSandbox(t, { readyMs: 0 })
  await caller.setFaults({ clock: '2025-01-02T03:04:05Z' })
  caller.clock.nowMs += DAY_MS
  assert.equal((await measure(caller, { keyword: 'yoga' })).datetime, '2025-01-02 03:04:05 +00:00')
  await caller.setFaults({})
  assert.equal((await measure(caller, { keyword: 'yoga' })).datetime, stamp(caller.clock.nowMs))
})
