import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { CallWindow } from '../../src/sandbox/account.ts'
import {
  FAULT_KINDS,
  FAULTS_OF_ALL,
  type FaultKind,
  FaultSettings,
  type FaultSettingsInput,
  Faults,
  parseFaults,
} from '../../src/sandbox/faults.ts'
import {
  AMPLE,
  type Caller,
  DAY_MS,
  fetchTask,
  type Json,
  listErrors,
  listIds,
  listReady,
  MINUTE_MS,
  openSandbox,
  postTasks,
  readMoney,
  task,
} from './caller.ts'

const POST = '/v3/app_data/ios_store/app_searches/task_post'

/** What a call came to: HTTP status and code, or how it broke. */
const attempt = async (caller: Caller): Promise<string> => {
  try {
    const response = await caller.fetch(POST, { method: 'POST', body: JSON.stringify([task()]) })
    const text = await response.text()
    try {
      const { status_code, tasks } = JSON.parse(text)
      return `${response.status} ${status_code} ${tasks === null ? 'null' : tasks[0].status_code}`
    } catch {
      return `${response.status} ${response.headers.get('content-type')}`
    }
  } catch {
    return 'broken'
  }
}

const countPosted = async (caller: Caller): Promise<number> => (await listIds(caller)).length
const readBalance = async (caller: Caller): Promise<number> => (await readMoney(caller)).balance

describe('faults of calls', () => {
  const outcomes: [FaultKind, RegExp][] = [
    ['reset', /^broken$/],
    ['lost', /^broken$/],
    ['http500', /^500 50000 null$/],
    ['internalCode', /^200 (50000|50301|50401) null$/],
    ['tasksNull', /^200 20000 null$/],
    ['rateLimit', /^200 40202 null$/],
    ['paymentRequired', /^402 40200 null$/],
    ['halfBody', /^broken$/],
    ['notJson', /^200 text\/html$/],
    ['slow', /^200 20000 20100$/],
  ]
  const neverDone: FaultKind[] = ['rateLimit', 'paymentRequired']
  const alwaysDone: FaultKind[] = ['lost', 'halfBody', 'slow']
  for (const [kind, outcome] of outcomes) {
    for (const when of ['before', 'after'] as const) {
      test(`${kind}, ${when} the work: the caller sees it and the books tell the truth`, async (t) => {
        const caller = await openSandbox(t, {
          readyMs: 0,
          faults: { [kind]: { path: 'task_post', when, ms: 1 } },
        })
        assert.match(await attempt(caller), outcome)
        const isDone = alwaysDone.includes(kind) || (when === 'after' && !neverDone.includes(kind))
        assert.equal(await countPosted(caller), Number(isDone))
        assert.equal(await readBalance(caller), isDone ? 999.9988 : 1000)
      })
    }
  }

  test('a rate is a share of the calls, the work is done in some, the same by the same seed', async (t) => {
    const run = async (seed: number) => {
      const faults = { http500: { rate: 0.3, path: 'task_post' } }
      const caller = await openSandbox(t, { seed, readyMs: 0, faults })
      const seen: string[] = []
      for (let call = 0; call < 60; call += 1) seen.push(await attempt(caller))
      return { seen, posted: await countPosted(caller) }
    }
    const [one, same, other] = [await run(1), await run(1), await run(2)]
    const failed = one.seen.filter((outcome) => outcome.startsWith('500')).length
    assert.ok(failed > 8 && failed < 30, `${failed} failed`)
    assert.ok(one.posted > 60 - failed && one.posted < 60, `${one.posted} done`)
    assert.deepEqual(one, same)
    assert.notDeepEqual(one.seen, other.seen)
  })
})

describe('faults of tasks, lists and results', () => {
  test('a stuck task is charged, pending for ever, and listed in id_list', async (t) => {
    const caller = await openSandbox(t, { readyMs: 0, ...AMPLE, faults: { stuck: { times: 1 } } })
    const [stuck, fine] = await postTasks(caller, [task({ depth: 200 }), task()])
    caller.clock.nowMs += 20 * DAY_MS
    assert.equal((await fetchTask(caller, stuck.id)).status_code, 40602)
    assert.equal((await fetchTask(caller, fine.id)).status_code, 20000)
    const row = (await listIds(caller, 21)).find(({ id }) => id === stuck.id)
    assert.deepEqual([row.status, row.datetime_done, row.cost], ['40602', null, 0.0024])
  })

  test('a task that there is no money for is not created', async (t) => {
    const caller = await openSandbox(t, { faults: { insufficientFunds: { times: 1 } } })
    const answers = await postTasks(caller, [task(), task()])
    assert.deepEqual(
      answers.map((answer) => `${answer.status_code} ${answer.cost}`),
      ['40210 0', '20100 0.0012'],
    )
    assert.equal(await countPosted(caller), 1)
  })
})

describe('failures of the store', () => {
  /** How a task has ended: its code, its message, what the envelope counts, and what it cost in the end. */
  const askOutcome = async (caller: Caller, id: string) => {
    const { tasks, tasks_error, status_code } = await caller.get(
      `/v3/app_data/ios_store/app_searches/task_get/advanced/${id}`,
    )
    return [status_code, tasks[0].status_code, tasks[0].status_message, tasks_error]
  }

  test('a burst fails every task that is done in its minutes, without a word in the envelope', async (t) => {
    const faults = { storeBurst: { times: 1, ms: 5 * 60_000 } }
    const caller = await openSandbox(t, { readyMs: 0, ...AMPLE, faults })
    const [first, second] = await postTasks(caller, [task(), task({ depth: 200 })])
    caller.clock.nowMs += 5 * 60_000 - 1
    const [last] = await postTasks(caller, [task()])
    caller.clock.nowMs += 1
    const [after] = await postTasks(caller, [task()])
    for (const { id } of [first, second, last]) {
      assert.deepEqual(await askOutcome(caller, id), [20000, 40101, 'Internal SE server error.', 0])
    }
    assert.deepEqual(await askOutcome(caller, after.id), [20000, 20000, 'Ok.', 0])
    assert.equal(await readBalance(caller), 1000 - 0.0012 * 5)
  })

  test('nothing is found under the code of an invalid field, charged for one unit', async (t) => {
    const caller = await openSandbox(t, { readyMs: 0, ...AMPLE, faults: { nothingFound: { times: 1 } } })
    const [{ id }] = await postTasks(caller, [task({ depth: 200 })])
    assert.deepEqual(await askOutcome(caller, id), [20000, 40501, 'No Search Results.', 1])
    assert.equal(await readBalance(caller), 1000 - 0.0012)
    const [failure] = await listErrors(caller)
    assert.deepEqual([failure.error_code, failure.error_message], [40501, 'No Search Results.'])
  })
})

describe('the control of the faults', () => {
  test('they are replaced at run time, by who knows the login', async (t) => {
    const caller = await openSandbox(t)
    const before = await caller.get('/faults')
    assert.deepEqual(before, { faults: { clockOffsetMs: 0, status: {} }, struck: {}, clockOffsetMs: 0 })
    const set = await caller.setFaults({ http500: { rate: 1, times: 2, path: 'categories' }, slow: 0 })
    assert.deepEqual(set.faults.http500, { rate: 1, times: 2, path: 'categories' })
    const codes: number[] = []
    for (let call = 0; call < 4; call += 1) {
      codes.push((await caller.fetch('/v3/app_data/ios_store/categories')).status)
      assert.equal((await caller.fetch('/v3/app_data/ios_store/languages')).status, 200)
    }
    assert.deepEqual(codes, [500, 500, 200, 200])
    assert.deepEqual((await caller.get('/faults')).struck, { http500: 2 })
    assert.deepEqual((await caller.setFaults({})).struck, {})
    for (const method of ['GET', 'PUT']) {
      const response = await fetch(`${caller.url}/faults`, { method })
      assert.equal(response.status, 401)
    }
  })

  test('settings that break a rule are refused with a sentence, and change nothing', async (t) => {
    const caller = await openSandbox(t)
    await caller.setFaults({ slow: { rate: 0.5, ms: 3 } })
    assert.equal((await caller.fetch('/faults', { method: 'PUT', body: '{' })).status, 400)
    for (const [faults, sentence] of [
      [{ http5000: 1 }, /http5000/],
      [{ reset: 1.5 }, /reset/],
      [{ reset: { when: 'later' } }, /reset/],
    ] as const) {
      const response = await caller.fetch('/faults', { method: 'PUT', body: JSON.stringify(faults) })
      assert.equal(response.status, 400)
      assert.match(((await response.json()) as Json).error, sentence)
    }
    assert.deepEqual((await caller.get('/faults')).faults.slow, { rate: 0.5, ms: 3 })
    await assert.rejects(openSandbox(t, { faults: { slow: 2 } }), /slow/)
  })

  test('a command line gives rates, a rate for all kinds but bursts, or everything as JSON', () => {
    assert.deepEqual(parseFaults('http500=0.05, slow=1'), FaultSettings.parse({ http500: 0.05, slow: 1 }))
    const all = parseFaults('all=0.05,slow=0')
    assert.deepEqual(all.slow, { rate: 0 })
    for (const kind of ['storeBurst', 'wrongCost', 'dearTask'] as const) assert.equal(all[kind], undefined)
    const others = FAULTS_OF_ALL.filter((kind) => kind !== 'slow')
    for (const kind of others) assert.deepEqual(all[kind], { rate: 0.05 })
    assert.equal(parseFaults('{"clockOffsetMs":-5}').clockOffsetMs, -5)
    for (const text of ['', 'all', 'all=', 'reset=x', 'nothing=1', 'reset=2', '{']) {
      assert.throws(() => parseFaults(text), text)
    }
  })

  test('the clock can be set, jumps ahead by itself, and shows in the HTTP date', async (t) => {
    const caller = await openSandbox(t, { readyMs: 0, ...AMPLE })
    const readDate = async () => {
      const response = await caller.fetch('/v3/app_data/ios_store/categories')
      return Date.parse(response.headers.get('date') ?? '') - caller.clock.nowMs
    }
    assert.equal(await readDate(), 0)
    await caller.setFaults({ clockOffsetMs: -3_600_000 })
    assert.equal(await readDate(), -3_600_000)
    await postTasks(caller, [task()])
    assert.equal((await listReady(caller))[0].date_posted, '2026-10-15 11:00:00 +00:00')
    await caller.setFaults({ clockJump: { path: 'languages', ms: 5000 } })
    for (let call = 0; call < 3; call += 1) await caller.get('/v3/app_data/ios_store/languages')
    assert.equal(await readDate(), 15_000)
    assert.equal((await caller.get('/faults')).clockOffsetMs, 15_000)
  })

  test('a clock that is set back does not close the windows of calls', async (t) => {
    const caller = await openSandbox(t, { statusPerMinute: 2 })
    const ask = async () => (await caller.get('/v3/appendix/status')).status_code
    await caller.setFaults({ clockOffsetMs: 3_600_000 })
    assert.deepEqual([await ask(), await ask(), await ask()], [20000, 20000, 40202])
    await caller.setFaults({})
    assert.equal(await ask(), 40202)
    caller.clock.nowMs += 60_000
    assert.equal(await ask(), 20000)
  })

  test('whatever strikes, a kind strikes no more often than asked, at the rates 0 and 1 exactly', () => {
    fc.assert(
      fc.property(fc.nat(), fc.constantFrom(...FAULT_KINDS), fc.nat(30), (seed, kind, times) => {
        const struck = (faults: FaultSettingsInput) => {
          const engine = new Faults(seed, FaultSettings.parse(faults))
          return Array.from({ length: 30 }, () => engine.strikes(kind, '/')).filter(Boolean).length
        }
        assert.equal(struck({ [kind]: 0 }), 0)
        assert.equal(struck({ [kind]: 1 }), 30)
        assert.equal(struck({ [kind]: { times: times + 1 } }), Math.min(30, times + 1))
      }),
    )
  })

  test('with every kind at 20 % the books tell every task that was created, charged once', async (t) => {
    const faults = {
      ...Object.fromEntries(FAULT_KINDS.map((kind) => [kind, 0.2])),
      slow: { rate: 0.2, ms: 1 },
      storeBurst: { rate: 0.2, ms: 1 },
    }
    const caller = await openSandbox(t, { ...AMPLE, readyMs: 0, faults })
    for (let call = 0; call < 200; call += 1) await attempt(caller)
    await caller.setFaults({})
    caller.clock.nowMs += DAY_MS / 2
    const rows = await listIds(caller)
    assert.ok(rows.length > 30 && rows.length < 170, `${rows.length} created`)
    const spentMicros = rows.reduce((sum, row) => sum + Math.round(row.cost * 1e6), 0)
    assert.equal(await readBalance(caller), (1_000_000_000 - spentMicros) / 1e6)
  })
})

describe('limits and access', () => {
  test('the root says who is here without a login', async (t) => {
    const caller = await openSandbox(t)
    const root = (await (await fetch(caller.url)).json()) as Json
    assert.deepEqual([root.service, root.seed, root.pid], ['storerank sandbox', 1, process.pid])
  })

  test('no window of 60 seconds holds more calls than the limit, whenever they come', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 5 }),
        fc.array(fc.nat(30_000), { maxLength: 60 }),
        (limit, gapsMs) => {
          const window = new CallWindow(limit)
          const taken: number[] = []
          let nowMs = 0
          for (const gapMs of gapsMs) {
            nowMs += gapMs
            const inWindow = taken.filter((time) => time > nowMs - MINUTE_MS).length
            assert.equal(window.hasRoom(nowMs), inWindow < limit)
            if (!window.hasRoom(nowMs)) continue
            window.take(nowMs)
            taken.push(nowMs)
          }
        },
      ),
    )
  })
})
