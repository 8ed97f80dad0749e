/** A project goes with its history when its owner says so, and never by mistake. */
import assert from 'node:assert/strict'
import { beforeEach, describe, test } from 'node:test'
import { lasting } from '../support/lasting.ts'
import { createWatchlist } from '../support/watchlist.ts'

const SLOT = '2026-03-10 00:00+00'

describe('delete_project', () => {
  const list = lasting(createWatchlist)
  beforeEach(async () => {
    await list.clear()
    await list.setNow('2026-03-10 13:00+00')
    await list.addKeyword({ project: 'gone', keyword: 'alone' })
    await list.addKeyword({ project: 'gone', keyword: 'shared' })
    await list.addKeyword({ project: 'kept', keyword: 'shared' })
    await list.addApp({ project: 'gone', info: true, location_code: 2840, language_code: 'en' })
    for (const keyword of ['alone', 'shared']) await list.capture(keyword, SLOT, ['1001'])
    await list.describeApp('1001', SLOT, {})
    await list.sql`insert into annotation (project, day, text) values ('gone', '2026-03-10', 'A note.')`
    await list.sql`
      insert into charge (kind, amount_micros, at, project_id, target_id, slot, service_id)
      select 'charge', 1200, '2026-03-10 12:00+00', id, 1, ${SLOT}, 'a' from project where name = 'gone'`
    await list.sql`select recount_spend()`
  })

  const projects = () => list.ask('name', 'project')

  test('takes what only the project asked for, and leaves what is shared, and the money', async () => {
    await list.sql`call delete_project('gone')`
    assert.deepEqual(await projects(), ['kept'])
    const [left] = await list.sql`
      select (select count(*)::int from ranking) as rankings,
        (select count(*)::int from app_snapshot) as snapshots,
        (select count(*)::int from watch_period) as periods, (select count(*)::int from annotation) as notes,
        (select sum(amount_micros)::int from charge) as charged,
        (select sum(charged_micros)::int from spend where scope = 0) as spent`
    assert.deepEqual(left, { rankings: 1, snapshots: 0, periods: 1, notes: 0, charged: 1200, spent: 1200 })
    const shown = 'ranking_slot s join project_target p using (target_id, project)'
    assert.deepEqual(await list.ask('project, p.keyword', shown), ['kept shared'])
    assert.equal((await list.sql`select from spend_difference`).count, 0)
  })

  test('stops the project and waits while a measurement is under way', async () => {
    await list.sql`
      insert into task (target_id, payers, slot, slot_ends_at, priority, estimate_micros, state)
      select min(t.id), array(select id from project where name = 'gone'), ${SLOT}, '2026-03-11', 1, 1200,
        'posted' from target t`
    await assert.rejects(list.sql`call delete_project('gone')`, {
      message:
        'The project "gone" is disabled and its watches are deleted, but 1 of its measurements are ' +
        'under way.',
    })
    assert.equal(
      (await list.sql`select from watch_period where project = 'gone' and ended_at is null`).count,
      0,
    )
    assert.equal((await list.sql`select from ranking`).count, 2)
    await list.sql`update task set state = 'dropped'`
    await list.sql`call delete_project('gone')`
    assert.deepEqual(await projects(), ['kept'])
  })

  test('names the project that was most likely meant', async () => {
    await assert.rejects(list.sql`call delete_project('gonee')`, {
      message: 'There is no project "gonee". Did you mean "gone"?',
    })
  })

  test('is what a plain DELETE points to; a project that was never used goes without it', async () => {
    await assert.rejects(list.sql`delete from project where name = 'gone'`, {
      constraint_name: 'project_with_history',
      hint: /call delete_project\('gone'\)/,
    })
    await list.sql`insert into project (name) values ('unused')`
    await list.sql`delete from project where name = 'unused'`
    assert.deepEqual(await projects(), ['gone', 'kept'])
  })
})
