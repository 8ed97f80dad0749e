/** No slot is without a home: partitions by month of slot in UTC, wherever the session thinks that it is. */
import assert from 'node:assert/strict'
import { beforeEach, describe, test } from 'node:test'
import { lasting } from '../support/lasting.ts'
import { createWatchlist } from '../support/watchlist.ts'

describe('the partitions of the history', () => {
  const list = lasting(createWatchlist)
  beforeEach(async () => {
    await list.sql`set timezone = 'UTC'`
    for (const name of await partitions('%')) await list.sql`drop table ${list.sql(name)}`
  })

  async function partitions(like: string): Promise<string[]> {
    const rows = await list.sql<{ name: string }[]>`
      select relname as name from pg_class where relispartition and relkind = 'r'
        and relnamespace = 'public'::regnamespace and relname like ${like} order by 1`
    return rows.map(({ name }) => name)
  }

  const ensure = async (from: string, to: string): Promise<number> =>
    (await list.sql`select ensure_history_partitions(${from}, ${to}) as made`)[0]?.made

  for (const zone of ['UTC', 'Pacific/Kiritimati', 'America/New_York']) {
    test(`both sides of the turn of the year have their month in UTC, in a session of ${zone}`, async () => {
      await list.sql`select set_config('timezone', ${zone}, false)`
      assert.equal(await ensure('2026-12-31 23:00+00', '2027-01-01 00:00+00'), 6)
      assert.deepEqual(await partitions('ranking%'), ['ranking_202612', 'ranking_202701'])
      const slots = [
        '2026-12-01 00:00+00',
        '2026-12-31 23:59:59+00',
        '2027-01-01 00:00+00',
        '2027-01-31 23:00+00',
      ]
      for (const slot of slots) {
        await list.sql`insert into ranking (target_id, slot, gap) values (1, ${slot}, 'missed')`
        await list.sql`insert into app_snapshot (target_id, slot, gap) values (1, ${slot}, 'missed')`
      }
      const homes =
        await list.sql`select tableoid::regclass::text as home, count(*) as slots from ranking group by 1
          order by 1`
      assert.deepEqual(
        [...homes],
        [
          { home: 'ranking_202612', slots: 2 },
          { home: 'ranking_202701', slots: 2 },
        ],
      )
    })
  }

  test('a slot without a partition is refused, not lost', async () => {
    await assert.rejects(
      list.sql`insert into ranking (target_id, slot, gap) values (1, '2026-05-01', 'missed')`,
      { code: '23514' },
    )
  })

  test('asking again makes nothing, and a span makes all its months', async () => {
    assert.equal(await ensure('2026-01-31 12:00+00', '2026-12-01 00:00+00'), 36)
    assert.equal(await ensure('2026-01-01 00:00+00', '2026-12-31 00:00+00'), 0)
  })

  test('a partition keeps the arrays outside and uncompressed, like its parent', async () => {
    await ensure('2026-01-01 00:00+00', '2026-01-01 00:00+00')
    const [column] = await list.sql`
      select attstorage from pg_attribute where attrelid = 'ranking_202601'::regclass and attname = 'app_ids'`
    assert.equal(column?.attstorage, 'e')
  })
})
