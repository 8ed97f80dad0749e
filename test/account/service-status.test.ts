/**
 * What the service says of itself, and what follows from it: nothing is posted in an outage, and nothing
 * waits for ever.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { pino } from 'pino'
import { JOBS } from '../../jobs/index.ts'
import {
  readPostingOutage,
  readServiceTroubles,
  refreshServiceStatus,
} from '../../src/account/service-status.ts'
import { handOutOverdue } from '../../src/collect/enqueue-results.ts'
import { UnavailableError } from '../../src/errors.ts'
import { closeEndedSlots } from '../../src/history/close-slots.ts'
import { claimPost } from '../../src/post/claim.ts'
import { runCycle } from '../../src/queue/cycle.ts'
import { executeJob } from '../../src/queue/job.ts'
import { startRunner } from '../../src/queue/runner.ts'
import type { ApiStatus } from '../../src/service/lists.ts'
import { countStates, depsOf, forgetAll, planPost, readMoney, watch, work } from '../post/posting.ts'
import { putFaults } from '../support/faults.ts'
import { lasting } from '../support/lasting.ts'
import { createWorld } from '../support/world.ts'

const world = lasting(() => createWorld({ sandbox: { statusPerMinute: 1000 } }))
beforeEach(() => world.db.sql`truncate service_status`)
afterEach(() => forgetAll(world))

/** What was logged as a warning. */
let warnings: Record<string, unknown>[] = []
const log = pino({ level: 'warn' }, { write: (line) => warnings.push(JSON.parse(line)) })
beforeEach(() => {
  warnings = []
})

const forget = (interval: string) =>
  world.db.sql`update service_status set checked_at = checked_at - ${interval}::interval`

/** Has the service say so, and looks, however recently somebody else has. */
async function look(status: Record<string, string> = {}): Promise<void> {
  await putFaults(world.sandboxUrl, { status })
  await forget('31 seconds')
  await refreshServiceStatus({ db: world.db, client: world.client, log })
}

/** Looks at a service that answers with this. */
const lookAt = (apis: ApiStatus[] | Error) =>
  refreshServiceStatus({
    db: world.db,
    client: {
      ...world.client,
      getStatus: async () => {
        if (apis instanceof Error) throw apis
        return apis
      },
    },
    log,
  })

const troubles = async () =>
  (await readServiceTroubles(world.db)).map(({ api, endpoint, status }) => `${api} ${endpoint} ${status}`)

const sinceOf = async () => {
  const [row] = await world.db.sql<{ since: Date }[]>`
    select since from service_status where api = 'app_data' and endpoint = 'task_post'`
  return row?.since
}

describe('the status of the service', () => {
  test('is kept by API and endpoint, with since when it is so', async () => {
    await look()
    assert.deepEqual(await troubles(), [])
    const rows = await world.db.sql`select from service_status`
    assert.equal(rows.length, 6)
    const healthySince = await sinceOf()
    await look({ task_post: 'long_response_time' })
    assert.deepEqual(await troubles(), [
      'app_data  long_response_time',
      'app_data task_post long_response_time',
    ])
    const slowSince = await sinceOf()
    assert.ok(slowSince !== undefined && healthySince !== undefined && slowSince > healthySince)
    await look({ task_post: 'long_response_time' })
    assert.deepEqual(await sinceOf(), slowSince)
  })

  test('of other parts of the service is nobody’s trouble here, and is not kept', async () => {
    const serp = {
      api: 'serp',
      status: 'major_outage',
      endpoints: [{ endpoint: 'live', status: 'major_outage' }],
    }
    const appendix = { api: 'appendix', status: 'partial_outage', endpoints: [] }
    await world.db
      .sql`insert into service_status (api, endpoint, status) values ('serp', '', 'partial_outage')`
    await forget('31 seconds')
    await lookAt([serp, { api: 'app_data', status: 'ok', endpoints: [] }, appendix])
    assert.deepEqual(await troubles(), ['appendix  partial_outage'])
    assert.deepEqual(
      warnings.map(({ api }) => api),
      ['appendix'],
    )
  })

  test('is logged when it changes, for better or worse, and not each time it is asked', async () => {
    await look()
    assert.deepEqual(warnings, [])
    await look({ live: 'partial_outage' })
    await look({ live: 'partial_outage' })
    await look()
    const said = warnings.filter(({ endpoint }) => endpoint === 'live').map(({ status }) => status)
    assert.deepEqual(said, ['partial_outage', 'ok'])
  })

  test('is asked once by all who want to know it within half a minute', async () => {
    let calls = 0
    const client = {
      ...world.client,
      getStatus: () => {
        calls += 1
        return world.client.getStatus()
      },
    }
    for (let n = 0; n < 3; n += 1) await refreshServiceStatus({ db: world.db, client, log })
    assert.equal(calls, 1)
    await forget('31 seconds')
    await refreshServiceStatus({ db: world.db, client, log })
    assert.equal(calls, 2)
  })

  test('that cannot be learned is a warning, and what was known stays', async () => {
    await look({ task_post: 'major_outage' })
    await forget('31 seconds')
    await lookAt(new UnavailableError('No network.'))
    await lookAt([])
    assert.ok((await readPostingOutage(world.db.sql)) !== null)
    assert.equal(warnings.at(-1)?.msg, 'the status of the service could not be learned')
  })

  test('forgets an endpoint that is no longer named, and takes one row of one named twice', async () => {
    await look()
    await forget('31 seconds')
    const live = { endpoint: 'live', status: 'ok' }
    await lookAt([{ api: 'app_data', status: 'ok', endpoints: [live, live] }])
    const rows = await world.db.sql`select api, endpoint from service_status order by endpoint`
    assert.deepEqual(
      [...rows],
      [
        { api: 'app_data', endpoint: '' },
        { api: 'app_data', endpoint: 'live' },
      ],
    )
  })
})

describe('a major outage of posting', () => {
  test('holds every post: tasks stay planned, with their money, and it costs no call', async () => {
    const postId = await planPost(world, ['yoga'])
    await look({ task_post: 'major_outage' })
    assert.deepEqual(await claimPost(world.db, postId, randomUUID(), depsOf(world)), { kind: 'held' })
    assert.deepEqual(await work(world, postId), { kind: 'nothing' })
    assert.deepEqual(await countStates(world.db), { planned: 1 })
    assert.deepEqual(await readMoney(world.db), { reserved: 1200 })
    assert.equal((await world.db.sql`select from api_call where kind = 'task_post'`).length, 0)

    await look()
    await work(world, postId)
    assert.deepEqual(await countStates(world.db), { posted: 1 })
    const [post] = await world.db.sql`select problem from post`
    assert.equal(post?.problem, null)
  })

  test('is the reason of the gap, should the slot end before it is over', async () => {
    const postId = await planPost(world, ['yoga'])
    await look({ task_post: 'major_outage' })
    await work(world, postId)
    await world.db.sql`
      update watch_period set first_slot = first_slot - interval '1 day'`
    await world.db
      .sql`update task set slot = slot - interval '1 day', slot_ends_at = slot_ends_at - interval '1 day'`
    await closeEndedSlots(world.db)
    const [gap] = await world.db.sql`select gap, reason from ranking where reason like 'It was planned%'`
    assert.equal(gap?.gap, 'missed')
    assert.match(
      gap?.reason,
      /could be sent\. The service reports a major outage of posting since [-0-9]{10} [0-9:]{5} UTC\.$/,
    )
  })

  test('is believed for ten minutes without a fresh look, and no longer', async () => {
    await look({ task_post: 'major_outage' })
    await forget('9 minutes 50 seconds')
    assert.ok((await readPostingOutage(world.db.sql)) !== null)
    await forget('10 seconds')
    assert.equal(await readPostingOutage(world.db.sql), null)
    assert.equal((await troubles()).length, 2)
  })

  test('is one of the API as a whole only where that names no endpoint for posting', async () => {
    const taskPost = (status: string) => ({ endpoint: 'task_post', status })
    const isOut = async (api: ApiStatus) => {
      await forget('31 seconds')
      await lookAt([api])
      return (await readPostingOutage(world.db.sql)) !== null
    }
    assert.equal(await isOut({ api: 'app_data', status: 'major_outage', endpoints: [] }), true)
    assert.equal(await isOut({ api: 'app_data', status: 'major_outage', endpoints: [taskPost('ok')] }), false)
    assert.equal(await isOut({ api: 'app_data', status: 'ok', endpoints: [taskPost('major_outage')] }), true)
    assert.equal(await isOut({ api: 'appendix', status: 'major_outage', endpoints: [] }), false)
  })

  for (const status of ['partial_outage', 'on_fire']) {
    test(`is not what ${status} says: it is shown, and holds nothing`, async () => {
      const postId = await planPost(world, ['yoga'])
      await lookAt([{ api: 'app_data', status, endpoints: [{ endpoint: 'task_post', status }] }])
      await work(world, postId)
      assert.deepEqual(await countStates(world.db), { posted: 1 })
      assert.deepEqual(await troubles(), [`app_data  ${status}`, `app_data task_post ${status}`])
    })
  }

  /** A whole run; `looks` is how often it looked at what is outstanding. */
  async function cycle() {
    let looks = 0
    const onProgress = () => {
      looks += 1
    }
    const { context, stop } = await world.openRunner()
    const options = { waitMs: 60_000, onPhase: () => {}, onProgress }
    const { outstanding } = await runCycle(context, await startRunner(context, []), JOBS, options)
    await stop()
    return { ...outstanding, looks }
  }

  test('ends a run, which says what waits; the next one posts it', async () => {
    await watch(world, ['yoga'])
    await putFaults(world.sandboxUrl, { status: { task_post: 'major_outage' } })
    const held = await cycle()
    assert.deepEqual([held.planned, held.posting, held.looks], [1, 0, 1])
    assert.ok(held.outage !== null)
    await putFaults(world.sandboxUrl, {})
    await forget('31 seconds')
    const posted = await cycle()
    assert.deepEqual([posted.planned, posted.outage], [0, null])
    assert.deepEqual(await countStates(world.db), { collected: 1 })
  })

  test('keeps no run from collecting what was posted before', async () => {
    await work(world, await planPost(world, ['yoga']))
    await watch(world, ['chess'])
    await putFaults(world.sandboxUrl, { status: { task_post: 'major_outage' } })
    const held = await cycle()
    assert.deepEqual([held.planned, held.posted], [1, 0])
    assert.deepEqual(await countStates(world.db), { collected: 1, planned: 1 })
  })

  test('is asked again by the job `status`, which asks nothing while all is well', async () => {
    const { context } = await world.openRunner()
    const job = JOBS.find(({ name }) => name === 'status')
    assert.ok(job !== undefined)
    const calls = () => world.db.sql`select from api_call where kind = 'status'`
    assert.deepEqual(await executeJob(context, job), { troubles: 0 })
    assert.equal((await calls()).length, 0)
    await look({ task_post: 'major_outage' })
    await putFaults(world.sandboxUrl, {})
    await forget('31 seconds')
    assert.deepEqual(await executeJob(context, job), { troubles: 0 })
    assert.equal((await calls()).length, 1)
  })
})

describe('the patience of the collector', () => {
  const askedById = async () => {
    let asked = 0
    await handOutOverdue(world.db, async (_tx, items) => {
      asked += items.length
    })
    return asked === 1
  }
  const age = (minutes: number) => world.db.sql`
    update task set posted_at = posted_at - make_interval(mins => ${minutes}),
      ask_at = ask_at - make_interval(mins => ${minutes}), fetching_until = null`

  for (const [endpoint, status, isLonger] of [
    ['postback/pingback', 'webhook_delay', true],
    ['task_get', 'send_delay', true],
    ['task_post', 'partial_outage', true],
    ['task_get', 'long_response_time', false],
  ] as const) {
    test(`is ${isLonger ? 'threefold' : 'as ever'} while ${endpoint} says ${status}`, async () => {
      await work(world, await planPost(world, ['yoga']))
      await look({ [endpoint]: status })
      await age(46)
      assert.equal(await askedById(), !isLonger)
      if (!isLonger) return
      await age(3 * 45 - 46 - 1)
      assert.equal(await askedById(), false)
      await age(2)
      assert.equal(await askedById(), true)
    })
  }

  test('ends with the delay, and with a look that nobody repeats', async () => {
    await work(world, await planPost(world, ['yoga']))
    await age(46)
    await look({ task_get: 'long_execution_time' })
    assert.equal(await askedById(), false)
    await forget('10 minutes')
    assert.equal(await askedById(), true)
  })
})
