import assert from 'node:assert/strict'
import { beforeEach, describe, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { createCallGate } from '../../src/db/call-gate.ts'
import { endCall, startBefore } from '../../src/db/call-window.ts'
import { openDatabase } from '../../src/db/database.ts'
import { forgetCalls, permitsAgo } from '../support/call-window.ts'
import { openTestDatabase } from '../support/database.ts'
import { lasting } from '../support/lasting.ts'
import { until } from '../support/world.ts'

const db = lasting(openTestDatabase)
beforeEach(() => forgetCalls(db.sql))
const LIMITS = { callsPerMinute: 2000, maxConcurrentRequests: 30, runner: 'test' }

describe('the gate of free calls', () => {
  test('gives a permit that ends after half a second, and writes down how the call ended', async () => {
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

  test('a permit that waited for the lock of the window is valid from its stamp', async () => {
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
    await permitsAgo(db.sql, [1])
    const stopping = new AbortController()
    const gate = createCallGate(db, { ...LIMITS, callsPerMinute: 1 }, stopping.signal)
    const opening = gate.open('task_get', '/v3')
    stopping.abort(new Error('stopping'))
    await assert.rejects(opening)
    await assert.rejects(gate.open('task_get', '/v3'), /stopping/)
  })

  test('opens once there is room again', async () => {
    await permitsAgo(db.sql, [60.3])
    const gate = createCallGate(db, { ...LIMITS, callsPerMinute: 1 }, AbortSignal.timeout(10_000))
    await gate.open('task_get', '/v3')
    const [calls] = await db.sql<{ apart: number }[]>`
      select extract(epoch from max(permit_at) - min(permit_at))::float as apart from api_call`
    assert.ok((calls?.apart ?? 0) >= 60.5)
  })

  test('asks for many calls in few statements, and never has more in flight than allowed', async () => {
    const counted = openDatabase(db.url)
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
    const broken = openDatabase(db.url)
    await broken.close()
    const gate = createCallGate(broken, LIMITS, AbortSignal.timeout(10_000))
    await assert.rejects(gate.open('task_get', '/v3'), /CONNECTION_ENDED/)
    await assert.rejects(gate.open('task_get', '/v3'), /CONNECTION_ENDED/)
  })

  test('does not fail a call because its end could not be written down', async () => {
    const closed = openDatabase(db.url)
    await closed.close()
    await endCall(closed, 1, { httpStatus: 200 })
  })
})

describe('while there is work', () => {
  const SCALE = 25
  const WINDOW_S = 60.5 / SCALE
  const LIMIT = 2000 / SCALE

  test('a permit is taken as soon as the one before it in the window has left', async (t) => {
    // The real gate on a window that is shorter, and holds as many fewer.
    const kinds = 'text[], text[], text, jsonb, integer, integer, integer, integer'
    await db.sql.unsafe(`
      alter function take_call_permits(${kinds}, interval) rename to take_permits_within;
      create function take_call_permits(${kinds}, 
        out first_call_id bigint, out given integer, out wait_ms integer, out given_after_ms integer)
          language sql as
        $$ select * from take_permits_within($1, $2, $3, $4, $5, $6, $7, $8,
          interval '${WINDOW_S} seconds') $$`)
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
      from (select permit_at - lag(permit_at, ${LIMIT}::int)
        over (order by permit_at) - make_interval(secs => ${WINDOW_S}) as late
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
