import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import fc from 'fast-check'
import { createCallGate } from '../../src/db/call-gate.ts'
import { askForPermit, endCall, startBefore, takePermits } from '../../src/db/call-window.ts'
import { type Database, openDatabase, type SqlRunner } from '../../src/db/database.ts'
import type { CallKind } from '../../src/service/transport.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { until } from '../support/world.ts'

let database: TestDatabase
let db: Database
before(async () => {
  database = await createTestDatabase()
  db = openDatabase(database.url)
})
beforeEach(() => forgetCalls())

async function forgetCalls(sql: SqlRunner = db.sql): Promise<void> {
  await sql`truncate api_call, account_usage`
  await sql`update call_window set last_call_id = 0, in_flight = default`
}

after(async () => {
  await db.close()
  await database.drop()
})

const LIMITS = { callsPerMinute: 2000, maxConcurrentRequests: 30, runner: 'test' }

async function ask(kind: CallKind = 'task_get', limits: Partial<typeof LIMITS> = {}) {
  const answer = await askForPermit(db.sql, kind, '/v3', { ...LIMITS, ...limits })
  return 'callId' in answer ? 'permit' : answer.waitMs
}

/** Permits given that many seconds ago, whose calls have ended. */
async function permitsAgo(secondsAgo: readonly number[], kind: CallKind = 'task_get'): Promise<void> {
  await db.sql`
    insert into api_call (id, kind, path, runner, permit_at, deadline_at, ended_at)
    select w.last_call_id + row_number() over (order by s desc), ${kind}, '/v3', 'test',
      clock_timestamp() - make_interval(secs => s), clock_timestamp(), clock_timestamp()
    from call_window w, unnest(${[...secondsAgo]}::float8[]) s`
  await db.sql`update call_window set last_call_id = coalesce((select max(id) from api_call), 0)`
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
      select given, wait_ms as "waitMs" from take_call_permits(array_fill('task_get'::text, array[${wanted}::int]),
        array_fill('/v3'::text, array[${wanted}::int]), 'test', null, ${perWindow}, 1000, 25000,
        make_interval(secs => ${windowMs / 1000}))`
    assert.ok((row?.given ?? 0) <= wanted)
    taken += row?.given ?? 0
    if (row?.waitMs != null) await wait(row.waitMs)
  }
}

describe('the call window', () => {
  test('of 3 calls never holds a fourth, however many ask at once', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 40, max: 120 }),
        fc.integer({ min: 2, max: 6 }),
        fc.integer({ min: 1, max: 3 }),
        fc.integer({ min: 1, max: 5 }),
        async (windowMs, askers, permitsEach, atOnce) => {
          await forgetCalls()
          await Promise.all(
            Array.from({ length: askers }, () => askRepeatedly(permitsEach, atOnce, 3, windowMs)),
          )
          const stamps = await db.sql<{ permits: number; tooClose: number }[]>`
            select count(*) as permits,
              count(*) filter (where permit_at - third_before < make_interval(secs => ${windowMs / 1000})) as "tooClose"
            from (select permit_at, lag(permit_at, 3) over (order by permit_at) as third_before from api_call) as s`
          assert.deepEqual([...stamps], [{ permits: askers * permitsEach, tooClose: 0 }])
        },
      ),
      { numRuns: 10 },
    )
  })

  test('is 60.5 seconds long: a permit is given exactly when fewer than allowed are younger, else the wait is told', async () => {
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
          await forgetCalls()
          await permitsAgo(ages)
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
      await permitsAgo(Array(limit - 1).fill(30), kind)
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
      create function stopped.clock_timestamp() returns timestamptz language sql return timestamptz '${instant}'`)
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

  test('of so many gives those that asked first as many permits as the next one would have got, and says how long the next one waits', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.double({ min: 0, max: 120, noNaN: true }), { maxLength: 8 }),
        fc.integer({ min: 1, max: 6 }),
        fc.integer({ min: 1, max: 6 }),
        fc.integer({ min: 1, max: 6 }),
        async (ages, callsPerMinute, maxConcurrentRequests, wanted) => {
          await forgetCalls()
          await permitsAgo(ages.filter((age) => age < 60 || age > 61))
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
    await permitsAgo([1, 2])
    assert.equal(await ask(), 'permit')
    assert.ok(Number(await ask()) > 50_000)
    assert.ok(Number(await ask('task_get', { callsPerMinute: 1 })) > 50_000)
  })

  test('takes an account without a limit by our own, and one with a limit of nothing for one call', async () => {
    await accountAllows(null)
    await permitsAgo([1, 2])
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

describe('while there is work', () => {
  const SCALE = 25
  const WINDOW_S = 60.5 / SCALE
  const LIMIT = 2000 / SCALE

  test('a permit is taken as soon as the one before it in the window has left', async (t) => {
    // The real gate on a window that is shorter, and holds as many fewer.
    const kinds = 'text[], text[], text, jsonb, integer, integer, integer'
    await db.sql.unsafe(`
      alter function take_call_permits(${kinds}, interval) rename to take_permits_within;
      create function take_call_permits(${kinds}, 
        out first_call_id bigint, out given integer, out wait_ms integer, out given_after_ms integer) language sql as
        $$ select * from take_permits_within($1, $2, $3, $4, $5, $6, $7, interval '${WINDOW_S} seconds') $$`)
    t.after(() =>
      db.sql.unsafe(`
        drop function take_call_permits(${kinds});
        alter function take_permits_within(${kinds}, interval) rename to take_call_permits`),
    )
    const over = new AbortController()
    const gate = createCallGate(db, { ...LIMITS, callsPerMinute: LIMIT }, over.signal)
    const statementS = await measureStatement()
    let taken = 0
    const caller = async () => {
      while (taken < LIMIT * 3) {
        taken += 1
        const permit = await gate.open('task_get', '/v3')
        await permit.end({ httpStatus: 200 })
      }
    }
    await Promise.all(Array.from({ length: 5 }, caller))
    // By the database's own stamps, and in the middle: a machine that is held up now and then fails nothing.
    const [late] = await db.sql<{ earliest: number; median: number }[]>`
      select extract(epoch from min(late))::float8 as earliest,
        extract(epoch from percentile_cont(0.5) within group (order by late))::float8 as median
      from (select permit_at - lag(permit_at, ${LIMIT}::int) over (order by permit_at) - make_interval(secs => ${WINDOW_S}) as late
        from api_call) as waited`
    assert.ok(late !== undefined && late.earliest > 0, `the earliest was ${late?.earliest} s late`)
    // On idle cores a statement takes a thousandth of a second, and nothing is allowed for it.
    const allowed = WINDOW_S / 10 + Math.max(0, statementS - 0.005) * 10
    assert.ok(
      late.median < allowed,
      `half of the permits were ${late.median} s late, and ${allowed} are allowed`,
    )
  })

  /** How many seconds a statement takes on this machine now, in the middle, while five callers ask. */
  async function measureStatement(): Promise<number> {
    const ask = async () => {
      const begin = performance.now()
      await db.sql`select`
      return (performance.now() - begin) / 1000
    }
    const askOften = async () => {
      const times: number[] = []
      while (times.length < 20) times.push(await ask())
      return times
    }
    const times = (await Promise.all(Array.from({ length: 5 }, askOften))).flat().sort((a, b) => a - b)
    return times[times.length >> 1] ?? 0
  }
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
      select extract(epoch from deadline_at - permit_at)::float as patience from api_call where ended_at is null`
    assert.equal(call?.patience, 25.5)
    await db.sql`update api_call set deadline_at = clock_timestamp()`
    assert.equal(await ask('task_get', limits), 'permit')
  })
})

describe('the gate of free calls', () => {
  test('gives a permit that ends half a second after it was asked for, and writes down how the call ended', async () => {
    const askedMs = performance.now()
    const gate = createCallGate(db, LIMITS, AbortSignal.timeout(10_000))
    const permit = await gate.open('task_get', '/v3/x')
    assert.ok(permit.startBeforeMs >= askedMs + 500 && permit.startBeforeMs <= performance.now() + 500)
    await permit.end({ httpStatus: 500, statusCode: 50000, error: `\0${'x'.repeat(600)}` })
    const [call] =
      await db.sql`select path, runner, http_status, status_code, char_length(error) as length from api_call`
    assert.deepEqual(
      { ...call },
      { path: '/v3/x', runner: 'test', http_status: 500, status_code: 50000, length: 500 },
    )
  })

  test('a permit that the lock of the window kept waiting for longer than it is valid can be used: its time counts from its stamp', async () => {
    const gate = createCallGate(db, LIMITS, AbortSignal.timeout(10_000))
    const locked = Promise.withResolvers<void>()
    const holding = db.begin(
      async (tx) => {
        await tx`select from call_window for update`
        locked.resolve()
        await wait(900)
      },
      { name: 'Another turn at the window' },
    )
    await locked.promise
    const askedMs = performance.now()
    const permits = await Promise.all([
      gate.open('task_get', '/v3/a'),
      gate.open('task_get', '/v3/b'),
      gate.open('status', '/v3/c'),
    ])
    const answeredMs = performance.now()
    await holding
    assert.ok(answeredMs - askedMs > 600, `${answeredMs - askedMs} ms behind the lock`)
    for (const { startBeforeMs } of permits) {
      assert.ok(startBeforeMs > askedMs + 1_000, `${startBeforeMs - askedMs} ms after it was asked for`)
      assert.ok(startBeforeMs <= answeredMs + 500)
    }
  })

  test('the clock of the database is believed no more than the time that its answer took', () => {
    assert.equal(startBefore(1_000, 3_000, 1_500), 3_000)
    assert.equal(startBefore(1_000, 3_000, 3_600_000), 3_500)
    assert.equal(startBefore(1_000, 3_000, -3_600_000), 1_500)
  })

  test('waits for its turn, and gives up when the runner stops', async () => {
    await permitsAgo([1])
    const stopping = new AbortController()
    const gate = createCallGate(db, { ...LIMITS, callsPerMinute: 1 }, stopping.signal)
    const opening = gate.open('task_get', '/v3')
    stopping.abort(new Error('stopping'))
    await assert.rejects(opening)
    await assert.rejects(gate.open('task_get', '/v3'), /stopping/)
  })

  test('opens once there is room again', async () => {
    await permitsAgo([60.3])
    const gate = createCallGate(db, { ...LIMITS, callsPerMinute: 1 }, AbortSignal.timeout(10_000))
    await gate.open('task_get', '/v3')
    const [calls] = await db.sql<{ apart: number }[]>`
      select extract(epoch from max(permit_at) - min(permit_at))::float as apart from api_call`
    assert.ok((calls?.apart ?? 0) >= 60.5)
  })

  test('asks for many calls in few statements, and never has more in flight than allowed', async () => {
    const counted = openDatabase(database.url)
    let turns = 0
    const permits = new Proxy(counted.permits, {
      apply: (target, self, args) => {
        turns += 1
        return Reflect.apply(target as never, self, args)
      },
    })
    const gate = createCallGate({ ...counted, permits }, LIMITS, AbortSignal.timeout(60_000))
    let inFlight = 0
    let most = 0
    const caller = async () => {
      for (let made = 0; made < 20; made += 1) {
        const permit = await gate.open('task_get', '/v3')
        inFlight += 1
        most = Math.max(most, inFlight)
        await wait(1)
        inFlight -= 1
        void permit.end({ httpStatus: 200 })
      }
    }
    await Promise.all(Array.from({ length: 30 }, caller))
    await until('every end is written', async () => {
      const [open] = await db.sql<
        { calls: number }[]
      >`select count(*) as calls from api_call where ended_at is null`
      return open?.calls === 0
    })
    await counted.close()
    const [calls] = await db.sql<{ calls: number }[]>`select count(*) as calls from api_call`
    assert.equal(calls?.calls, 600)
    assert.ok(most <= 30, `${most} at once`)
    assert.ok(turns < 200, `${turns} statements`)
  })

  test('gives what waits to the next turn when the database fails in one', async () => {
    const broken = openDatabase(database.url)
    await broken.close()
    const gate = createCallGate(broken, LIMITS, AbortSignal.timeout(10_000))
    await assert.rejects(gate.open('task_get', '/v3'), /CONNECTION_ENDED/)
    await assert.rejects(gate.open('task_get', '/v3'), /CONNECTION_ENDED/)
  })

  test('does not fail a call because its end could not be written down', async () => {
    const closed = openDatabase(database.url)
    await closed.close()
    await endCall(closed, 1, { httpStatus: 200 })
  })
})
