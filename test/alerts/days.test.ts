/** Rules on a day of a project as a whole. */
import assert from 'node:assert/strict'
import { beforeEach, describe, test } from 'node:test'
import { createAlertList } from '../support/alerts.ts'
import { column } from '../support/database.ts'
import { lasting } from '../support/lasting.ts'

const list = lasting(createAlertList)
beforeEach(async () => {
  await list.clear()
  await list.setNow('2026-03-01 06:00+00')
})

const KEYWORDS = ['a', 'b', 'c', 'd', 'e']

const watchFive = async (fields: Record<string, unknown> = {}) => {
  for (const keyword of KEYWORDS) await list.addKeyword({ keyword, ...fields })
  await list.addApp()
}

/** `ranks[i]` holds the apps by rank of the i-th keyword; null is a gap. */
const measure = async (day: number, ranks: readonly (readonly string[] | null)[]) => {
  const slot = `2026-03-0${day} 00:00+00`
  await list.setNow(`2026-03-0${day} 06:00+00`)
  for (const [n, apps] of ranks.entries()) {
    const keyword = KEYWORDS[n] ?? ''
    if (apps === null) await list.leaveGap(keyword, slot, 'budget')
    else await list.capture(keyword, slot, [...apps])
  }
}

const all = (apps: readonly string[]) => KEYWORDS.map(() => apps)

const FIRST = ['1001', '7', '8', '9']
const SECOND = ['7', '1001', '8', '9']
const FOURTH = ['7', '8', '9', '1001']
const OUT = ['7', '8', '9', '6']

describe('visibility', () => {
  test('that moved by so many percent is told, by keywords that were measured on both days', async () => {
    await watchFive()
    await list.addRule({ kind: 'visibility_moved', threshold: 40 })
    await measure(1, [FIRST, FIRST, SECOND, SECOND, FIRST])
    await measure(2, [SECOND, FIRST, SECOND, SECOND, null])
    await measure(3, [SECOND, SECOND, OUT, OUT, OUT])
    // Of the fifth keyword the day before is unknown: (0.5 + 1 + 0.5 + 0.5) / 4 and (0.5 + 0.5) / 4.
    assert.deepEqual(await list.look(), ['visibility_moved 03-03 1001 62.5→25'])
  })

  test('does not fall by a gap, and nothing is said of a day that was measured in small part', async () => {
    await watchFive()
    await list.addRule({ kind: 'visibility_moved', threshold: 1 })
    await measure(1, all(FIRST))
    await measure(2, [FIRST, FIRST, FIRST, FIRST, null])
    await measure(3, [OUT, FIRST, FIRST, null, FIRST])
    assert.deepEqual(await list.look(), [])
  })

  test('goes by the weight of the keywords, and by the tag of the rule', async () => {
    await watchFive()
    await list.sql`update keyword_watch set weight = 8, tags = '{core}' where keyword = 'a'`
    await list.addRule({ kind: 'visibility_moved', threshold: 30 })
    await list.addRule({
      kind: 'visibility_moved',
      name: 'core',
      tag: 'core',
      threshold: 30,
      direction: 'down',
    })
    await measure(1, all(FIRST))
    await measure(2, [SECOND, FIRST, FIRST, FIRST, FIRST])
    assert.deepEqual(await list.look(), ['core 03-02 1001 100→50', 'visibility_moved 03-02 1001 100→66.6667'])
  })

  test('is that of the project’s own day, with the last measurement of each list in it', async () => {
    await list.addKeyword({ keyword: 'a' })
    await list.addKeyword({ keyword: 'b', every: '12 hours' })
    await list.addApp()
    await list.sql`update project set timezone = 'Asia/Tokyo'`
    await list.addRule({ kind: 'visibility_moved', threshold: 10 })
    for (const [day, apps] of [
      [1, FIRST],
      [2, FOURTH],
    ] as const) {
      await list.setNow(`2026-03-0${day} 13:00+00`)
      await list.capture('a', `2026-03-0${day} 00:00+00`, [...FIRST])
      await list.capture('b', `2026-03-0${day} 00:00+00`, [...FIRST])
      await list.capture('b', `2026-03-0${day} 12:00+00`, [...apps])
    }
    // The day of Tokyo began at 15:00 UTC of the day before.
    assert.deepEqual(await list.look(), ['visibility_moved 03-01 1001 100→62.5'])
  })
})

test('share of voice is of everybody on the same measurements', async () => {
  await watchFive()
  await list.addRule({ kind: 'share_of_voice_moved', threshold: 20 })
  await measure(1, all(['1001', '7']))
  await measure(2, all(['7', '1001']))
  assert.deepEqual(await list.look(), ['share_of_voice_moved 03-02 1001 66.6667→33.3333'])
})

test('the count in the top N is of keywords that were measured on both days', async () => {
  await watchFive()
  await list.addRule({ kind: 'top_count_moved', top: 3, threshold: 2 })
  await measure(1, [FIRST, FIRST, FIRST, FIRST, OUT])
  await measure(2, [FIRST, FIRST, FOURTH, FOURTH, FIRST])
  await measure(3, [FOURTH, FOURTH, FOURTH, FOURTH, null])
  assert.deepEqual(await list.look(), ['top_count_moved 03-03 1001 2→0'])
})

describe('a new app', () => {
  test('in the top N of K keywords is told once, and never of an app that is watched', async () => {
    await watchFive()
    await list.addApp({ app_id: '1002', role: 'competitor' })
    await list.addRule({ kind: 'new_app', top: 2, threshold: 3 })
    await measure(1, all(['1001', '7']))
    await measure(2, [
      ['1002', '5'],
      ['1002', '5'],
      ['1002', '5', '7'],
      ['1001', '7', '5'],
      ['1001', '7'],
    ])
    await measure(3, all(['1001', '7']))
    await measure(4, all(['5', '1001']))
    assert.deepEqual(await list.look(), ['new_app 03-02 5 0→3', 'new_app 03-03 7 2→5'])
    const [event] = await list.sql`select detail from alert_event order by slot`
    assert.deepEqual(event?.detail, { top: 2, keywords: ['a', 'b', 'c'] })
  })

  test('is told by each rule with its own top, and with the keywords of its best places', async () => {
    await watchFive()
    await list.addRule({ kind: 'new_app', top: 2, threshold: 2 })
    await list.addRule({ kind: 'new_app', name: 'core', top: 3, threshold: 2, tag: 'core' })
    await list.sql`update keyword_watch set tags = '{core}' where keyword in ('c', 'd', 'e')`
    await measure(1, all(FIRST))
    await measure(2, [
      ['1001', '5', '6'],
      ['5', '1001', '6'],
      ['7', '8', '6', '5'],
      ['6', '7', '5', '8'],
      ['7', '1001', '9', '5'],
    ])
    assert.deepEqual(await list.look(), ['core 03-02 6 0→2', 'new_app 03-02 5 0→2'])
    const events =
      await list.sql`select detail -> 'keywords' as keywords from alert_event order by detail ->> 'top'`
    assert.deepEqual(column(events, 'keywords'), [
      ['b', 'a'],
      ['d', 'c'],
    ])
  })
})

test('what is told of a day is what visibility_change says of it, to the depth of both', async () => {
  await watchFive({ depth: 4 })
  await list.addApp({ app_id: '1002', role: 'competitor' })
  await list.sql`update keyword_watch set weight = 3 where keyword = 'c'`
  for (const kind of ['visibility_moved', 'share_of_voice_moved'])
    await list.addRule({ kind, threshold: 0.0001, role: 'any' })
  await list.addRule({ kind: 'top_count_moved', threshold: 1, top: 3, role: 'any' })
  await measure(1, [FIRST, SECOND, ['7', '1002', '1001', '8'], FOURTH, ['1002', '7']])
  await list.sql`update ranking set depth = 2 where cardinality(app_ids) = 2`
  await measure(2, [SECOND, FIRST, ['1002', '8', '7', '1001'], null, ['7', '8', '1001', '1002']])
  await list.look()
  const told = await list.sql`
    select split_part(e.kind, '_', 1) as kind, a.app_id, e.before, e.after
    from alert_event e join app a on a.id = e.app order by 1, 2`
  const said = await list.sql`
    select v.kind, c.app_id, round(v.before, 4)::float8 as before, round(v.after, 4)::float8 as after
    from visibility_change('fitness', '2026-03-01', '2026-03-02', in_top => 3) c
    cross join lateral (values ('visibility', c.visibility_before, c.visibility_after),
      ('share', c.share_before, c.share_after), ('top', c.top_before, c.top_after)) v (kind, before, after)
    where c.role <> 'rest' and round(v.before, 4) <> round(v.after, 4) order by 1, 2`
  assert.deepEqual([...told], [...said])
  assert.ok(told.length >= 5)
})

describe('the market', () => {
  /** Ours first, and 20 others, which change places two by two every day: by 20/21 places on average. */
  const others = Array.from({ length: 20 }, (_, n) => String(30 + n))
  const turn = (day: number) => ['1001', ...others.map((_, n) => String(30 + (n ^ (day % 2))))]
  const fallen = [...others.slice(0, 5), '1001', ...others.slice(5)]
  const shuffled = [...fallen.slice(7), ...fallen.slice(0, 7)]

  test('that moved twice as far as usual is told, and own apps that did so alone, by tag', async () => {
    await watchFive({ tags: ['core'] })
    await list.addRule({ kind: 'market_moved', threshold: 2, tag: 'core' })
    await list.addRule({ kind: 'market_moved', name: 'other', threshold: 2, tag: 'other' })
    for (const day of [1, 2, 3, 4]) await measure(day, all(turn(day)))
    assert.deepEqual(await list.look(), [])
    await measure(5, all(fallen))
    // Ours fell by five, and five rose by one: 10 places of 21 apps.
    assert.deepEqual(await list.look(), ['market_moved 03-05 0.95→0.48'])
    await measure(6, all(shuffled))
    assert.deepEqual(await list.look(), ['market_moved 03-06 0.95→9.33'])
    const rows = await list.sql`select detail ->> 'verdict' as verdict from alert_event order by slot`
    assert.deepEqual(column(rows, 'verdict'), ['own', 'everybody'])
  })
})
