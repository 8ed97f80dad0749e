/**
 * Two times of a project are compared like for like: over the lists that both have measured, however they
 * came and went.
 */
import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import { lasting } from '../support/lasting.ts'
import { createWatchlist } from '../support/watchlist.ts'

const list = lasting(createWatchlist)
beforeEach(async () => {
  await list.clear()
  await list.setNow('2026-03-01 06:00+00')
})

const slotOf = (day: number, hour = 0) => `2026-03-0${day} ${String(hour).padStart(2, '0')}:00+00`

/** Each line as `keyword app before→after change`, of a list without an app whether it is compared. */
async function compare(slot: string, fields: { back?: string; tag?: string; targets?: number[] } = {}) {
  const { back = '24 hours', tag = null, targets = null } = fields
  return list.ask(
    `t.subject, to_char(c.slot, 'DD HH24'), case when c.app is null then c.is_compared::text
      else concat(c.app_id, ' ', coalesce(c.rank_before::text, '-'), '→', coalesce(c.rank::text, '-'), ' ',
        c.change) end`,
    `rank_comparison('fitness', '${slot}', '${back}', in_tag => ${tag && `'${tag}'`},
      in_targets => ${targets && `'{${targets}}'`}) c join target t on t.id = c.target_id`,
  )
}

test('a list is compared where both were measured whole, an app where both say where it is', async () => {
  await list.addApp()
  for (const keyword of ['both', 'gap now', 'gap then', 'part'])
    await list.addKeyword({ keyword, depth: 3, ...(keyword === 'part' ? { tags: ['core'] } : {}) })
  for (const keyword of ['both', 'gap now', 'part'])
    await list.capture(keyword, slotOf(1), ['1001', '7', '8'])
  await list.leaveGap('gap then', slotOf(1), 'failed')
  await list.setNow('2026-03-02 06:00+00')
  await list.capture('both', slotOf(2), ['7', '8', '9'], { depth: 3 })
  await list.leaveGap('gap now', slotOf(2), 'budget')
  await list.capture('gap then', slotOf(2), ['1001'])
  await list.capture('part', slotOf(2), ['7', '8'], { reason: '1 item could not be read' })
  const both = ['both 02 00 1001 1→- -3', 'both 02 00 true']
  assert.deepEqual(await compare(slotOf(2)), [
    ...both,
    'gap now false',
    'gap then 02 00 false',
    'part 02 00 false',
  ])
  assert.deepEqual(await compare(slotOf(2), { tag: 'core' }), ['part 02 00 false'])
  const [target] = await list.sql`select id from target where subject = 'both'`
  assert.deepEqual(await compare(slotOf(2), { targets: [target?.id] }), both)
  // Of the whole list and of the app: weight × weight(rank), where both were measured whole.
  const worths =
    "coalesce(app_id, 'all'), round(sum(worth)::numeric, 2), round(sum(worth_before)::numeric, 2)"
  const of = `rank_comparison('fitness', '${slotOf(2)}') group by app_id`
  assert.deepEqual(await list.ask(worths, of), ['1001 1.00', 'all 1.83 1.83'])
})

test('a list is compared at the same hour, by its last measurement of the day of the project', async () => {
  await list.addApp()
  await list.addKeyword({ every: '6 hours' })
  await list.sql`update project set timezone = 'Asia/Tokyo'`
  await list.capture('yoga', slotOf(1, 6), ['7', '1001'])
  await list.capture('yoga', slotOf(1, 12), ['1001'])
  await list.setNow('2026-03-02 20:00+00')
  await list.capture('yoga', slotOf(2, 6), ['1001'])
  await list.leaveGap('yoga', slotOf(2, 12), 'failed')
  assert.deepEqual(await compare(slotOf(2, 12)), ['yoga 02 06 1001 2→1 1', 'yoga 02 06 true'])
  await list.capture('yoga', slotOf(2, 18), ['1001'])
  // In Tokyo it is the next day.
  assert.deepEqual(await compare(slotOf(2, 18)), ['yoga 02 18 false'])
})

test('what was not asked for at both times is not missed', async () => {
  await list.addApp()
  await list.addKeyword({ keyword: 'daily' })
  await list.addKeyword({ keyword: 'weekly', every: '7 days' })
  await list.addKeyword({ keyword: 'ended' })
  await list.setNow('2026-03-02 06:00+00')
  await list.addKeyword({ keyword: 'new' })
  await list.sql`update keyword_watch set enabled = false where keyword = 'ended'`
  assert.deepEqual(await compare(slotOf(2)), ['daily false'])
  // What was measured before it ended counts.
  await list.capture('ended', slotOf(1), ['1001'])
  await list.capture('ended', slotOf(2), ['1001'])
  assert.deepEqual(await compare(slotOf(2)), ['daily false', 'ended 02 00 1001 1→1 0', 'ended 02 00 true'])
})

test('a list weighs what its places weigh to the depth of both times, without those of no app', async () => {
  await list.addApp()
  await list.addKeyword()
  await list.capture('yoga', slotOf(1), ['1001', '7'], { depth: 2 })
  await list.setNow('2026-03-02 06:00+00')
  await list.capture('yoga', slotOf(2), ['7', '1001', '8', '9'])
  const worths = () =>
    list.ask(
      'round(worth::numeric, 2), round(worth_before::numeric, 2)',
      `rank_comparison('fitness', '${slotOf(2)}') where app is null`,
    )
  assert.deepEqual(await worths(), ['1.50 1.50'])
  await list.sql`update ranking set app_ids[1] = 0 where slot = ${slotOf(2)}`
  assert.deepEqual(await worths(), ['0.50 1.50'])
})
