import assert from 'node:assert/strict'
import { beforeEach, describe, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import fc from 'fast-check'
import { askForPermit, endCall, takePermits } from '../../src/db/call-window.ts'
import type { CallKind } from '../../src/service/transport.ts'
import { forgetCalls, permitsAgo } from '../support/call-window.ts'
import { openTestDatabase } from '../support/database.ts'
import { lasting } from '../support/lasting.ts'
import { until } from '../support/world.ts'

const db = lasting(openTestDatabase)
beforeEach(() => forgetCalls(db.sql))

const LIMITS = { callsPerMinute: 2000, maxConcurrentRequests: 30, runner: 'test' }

async function ask(kind: CallKind = 'task_get', limits: Partial<typeof LIMITS> = {}) {
  const answer = await askForPermit(db.sql, kind, '/v3', { ...LIMITS, ...limits })
  return 'callId' in answer ? 'permit' : answer.waitMs
}

async function accountAllows(callsPerMinute: number | null): Promise<void> {
  await db.sql`
    insert into account_usage (login, calls_per_minute_limit, prices) values ('me', ${callsPerMinute}, '[]')`
}

/** Takes permits, so many at once, until it has as many as it wants, waiting as long as it is told. */
async function askRepeatedly(
  permits: number,
  atOnce: number,
  perWindow: number,
  windowMs: number,
): Promise<void> {
  for (let taken = 0; taken < permits; ) {
    const wanted = Math.min(atOnce, permits - taken)
    const [row] = await db.sql<{ given: number; waitMs: number | null }[]>`
      select given, wait_ms as "waitMs" from take_call_permits(array_fill('task_get'::text,
        array[${wanted}::int]),
        array_fill('/v3'::text, array[${wanted}::int]), 'test', null, ${perWindow}, 1000, 25000, 500,
        make_interval(secs => ${windowMs / 1000}))`
    assert.ok((row?.given ?? 0) <= wanted)
    taken += row?.given ?? 0
    if (row?.waitMs != null) await wait(row.waitMs)
  }
}

describe('the call window', () => {
  test('does not wait for what a clock that was ahead has stamped', async () => {
    await permitsAgo(db.sql, Array(2000).fill(-36_000), 'id_list')
    assert.equal(await ask('id_list'), 'permit')
    assert.equal(await ask(), 'permit')
  })

  test('of 3 calls never holds a fourth, however many ask at once', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 40, max: 120 }),
        fc.integer({ min: 2, max: 6 }),
        fc.integer({ min: 1, max: 3 }),
        fc.integer({ min: 1, max: 5 }),
        async (windowMs, askers, permitsEach, atOnce) => {
          await forgetCalls(db.sql)
          await Promise.all(
            Array.from({ length: askers }, () => askRepeatedly(permitsEach, atOnce, 3, windowMs)),
          )
          const stamps = await db.sql<{ permits: number; tooClose: number }[]>`
            select count(*) as permits,
              count(*) filter (where permit_at - third_before
                < make_interval(secs => ${windowMs / 1000})) as "tooClose"
            from (select permit_at, lag(permit_at, 3) over (order by permit_at) as third_before
              from api_call) as s`
          assert.deepEqual([...stamps], [{ permits: askers * permitsEach, tooClose: 0 }])
        },
      ),
      { numRuns: 10 },
    )
  })

  test('is 60.5 seconds long: a permit is given while fewer are younger, else the wait is told', async () => {
    // Half a second on either side of the edge is left out, for the statement takes its time.
    const age = fc.oneof(
      fc.double({ min: 0, max: 60, noNaN: true }),
      fc.double({ min: 61, max: 120, noNaN: true }),
    )
    await fc.assert(
      fc.asyncProperty(
        fc.array(age, { maxLength: 6 }),
        fc.integer({ min: 1, max: 5 }),
        async (ages, limit) => {
          await forgetCalls(db.sql)
          await permitsAgo(db.sql, ages)
          const answer = await ask('task_get', { callsPerMinute: limit })
          const young = ages.filter((one) => one < 60.5).sort((a, b) => a - b)
          const blocking = young[limit - 1]
          if (blocking === undefined) assert.equal(answer, 'permit')
          else assert.ok(Math.abs(Number(answer) - (60.5 - blocking) * 1000) < 450, `${answer} ms`)
        },
      ),
      { numRuns: 40 },
    )
  })

  for (const [kind, limit] of [
    ['tasks_ready', 20],
    ['id_list', 10],
    ['status', 10],
  ] as const) {
    test(`lets through ${limit} calls of ${kind} a minute, and goes on with other kinds`, async () => {
      await permitsAgo(db.sql, Array(limit - 1).fill(30), kind)
      assert.equal(await ask(kind), 'permit')
      assert.ok(Number(await ask(kind)) > 20_000)
      assert.equal(await ask('task_get'), 'permit')
      assert.equal(await ask('task_post'), 'permit')
    })
  }

  test('counts a permit of exactly one window ago, and none before it', async (t) => {
    const instant = '2026-11-21 12:01:00.500000+00'
    await db.sql.unsafe(`
      create schema stopped;
      create function stopped.clock_timestamp() returns timestamptz
        language sql return timestamptz '${instant}'`)
    const session = db.openSession(60_000)
    t.after(async () => {
      await session.end()
      await db.sql`drop schema stopped cascade`
    })
    await session`set search_path = stopped, pg_catalog, public`
    const askAfter = async (before: string) => {
      await forgetCalls(session)
      await session`
        insert into api_call (id, kind, path, runner, permit_at, deadline_at, ended_at)
        values (1, 'task_get', '/v3', 'test', ${before}, ${instant}, ${instant})`
      await session`update call_window set last_call_id = 1`
      const answer = await askForPermit(session, 'task_get', '/v3', { ...LIMITS, callsPerMinute: 1 })
      return 'callId' in answer ? 'permit' : answer.waitMs
    }
    assert.equal(await askAfter('2026-11-21 12:00:00.000000+00'), 1)
    assert.equal(await askAfter('2026-11-21 11:59:59.999999+00'), 'permit')
  })

  test('of so many gives the first as many permits as there are, and says how long others wait', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.double({ min: 0, max: 120, noNaN: true }), { maxLength: 8 }),
        fc.integer({ min: 1, max: 6 }),
        fc.integer({ min: 1, max: 6 }),
        fc.integer({ min: 1, max: 6 }),
        async (ages, callsPerMinute, maxConcurrentRequests, wanted) => {
          await forgetCalls(db.sql)
          await permitsAgo(
            db.sql,
            ages.filter((age) => age < 60 || age > 61),
          )
          const young = ages.filter((age) => age < 60).length
          const calls = Array.from({ length: wanted }, (_, index) => ({
            kind: 'task_get' as const,
            path: `/${index}`,
          }))
          const limits = { ...LIMITS, callsPerMinute, maxConcurrentRequests }
          const { callIds, waitMs } = await takePermits(db.sql, calls, [], limits)
          const room = Math.max(0, Math.min(callsPerMinute - young, maxConcurrentRequests))
          assert.equal(callIds.length, Math.min(wanted, room))
          assert.equal(waitMs === null, callIds.length === wanted)
          const rows = await db.sql<{ path: string }[]>`
            select path from api_call where id = any(${[...callIds]}::bigint[]) order by id`
          assert.deepEqual(
            rows.map(({ path }) => path),
            calls.slice(0, callIds.length).map(({ path }) => path),
          )
        },
      ),
      { numRuns: 40 },
    )
  })

  test('obeys the account’s own limit where it is lower, as last reported', async () => {
    await accountAllows(1)
    await accountAllows(3)
    await permitsAgo(db.sql, [1, 2])
    assert.equal(await ask(), 'permit')
    assert.ok(Number(await ask()) > 50_000)
    assert.ok(Number(await ask('task_get', { callsPerMinute: 1 })) > 50_000)
  })

  test('takes an account without a limit by ours, and one with a limit of nothing for one call', async () => {
    await accountAllows(null)
    await permitsAgo(db.sql, [1, 2])
    assert.equal(await ask('task_get', { callsPerMinute: 3 }), 'permit')
    await accountAllows(0)
    assert.ok(Number(await ask()) > 50_000)
    await db.sql`truncate api_call`
    assert.equal(await ask(), 'permit')
  })

  test('stamps a permit when it is given, not when it was asked for', async () => {
    const { asking, latest } = await db.begin(async (tx) => {
      await askForPermit(tx, 'task_get', '/first', LIMITS)
      const asking = ask()
      await until('the second one waits', async () => {
        const waiters = await db.sql`
          select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
        return waiters.length > 0
      })
      const [row] = await tx<{ latest: string }[]>`select clock_timestamp()::text as latest`
      return { asking: [asking] as const, latest: row?.latest ?? '' }
    })
    assert.equal(await asking[0], 'permit')
    const late =
      await db.sql`select from api_call where path <> '/first' and permit_at > ${latest}::text::timestamptz`
    assert.equal(late.length, 1)
  })

  test('does not count a permit whose transaction was given up', async () => {
    await assert.rejects(
      db.begin(async (tx) => {
        await askForPermit(tx, 'task_post', '/v3', { ...LIMITS, callsPerMinute: 1 })
        throw new Error('given up')
      }),
      /given up/,
    )
    assert.equal(await ask('task_get', { callsPerMinute: 1 }), 'permit')
  })
})

describe('calls in flight', () => {
  test('are never more than allowed, however many ask at once', async () => {
    let inFlight = 0
    let most = 0
    const caller = async () => {
      for (let made = 0; made < 5; ) {
        const answer = await askForPermit(db.sql, 'task_get', '/v3', { ...LIMITS, maxConcurrentRequests: 3 })
        if ('waitMs' in answer) {
          await wait(5)
          continue
        }
        made += 1
        inFlight += 1
        most = Math.max(most, inFlight)
        await wait(1)
        inFlight -= 1
        await endCall(db, answer.callId, { httpStatus: 200 })
      }
    }
    await Promise.all(Array.from({ length: 8 }, caller))
    assert.ok(most >= 2 && most <= 3, `${most} at once`)
  })

  test('free their place when they end, or by their deadline when nobody says how they ended', async () => {
    const limits = { ...LIMITS, maxConcurrentRequests: 1 }
    const first = await askForPermit(db.sql, 'task_get', '/v3', limits)
    assert.equal(typeof (await ask('task_get', limits)), 'number')
    assert.ok('callId' in first)
    await endCall(db, first.callId, { httpStatus: 200, statusCode: 20000 })
    assert.equal(await ask('task_get', limits), 'permit')
    assert.equal(typeof (await ask('task_get', limits)), 'number')
    const [call] = await db.sql<{ patience: number }[]>`
      select extract(epoch from deadline_at - permit_at)::float as patience from api_call
        where ended_at is null`
    assert.equal(call?.patience, 25.5)
    await db.sql`update api_call set deadline_at = clock_timestamp()`
    assert.equal(await ask('task_get', limits), 'permit')
  })
})
