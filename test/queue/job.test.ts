import assert from 'node:assert/strict'
import { EventEmitter, once } from 'node:events'
import { afterEach, before, test } from 'node:test'
import { UnavailableError } from '../../src/errors.ts'
import { BUSY, endLostRuns, enqueueRun, executeJob, type Job, recordMissedRun } from '../../src/queue/job.ts'
import { startRunner } from '../../src/queue/runner.ts'
import { lasting } from '../support/lasting.ts'
import { createWorld, endRetryPauses, until, type WorldRunner } from '../support/world.ts'

const world = lasting(createWorld)
let first: WorldRunner
let second: WorldRunner
before(async () => {
  first = await world.openRunner()
  second = await world.openRunner()
})
afterEach(() => world.db.sql`truncate job_run`)

const SLOT = new Date('2026-11-21T03:00:00Z')

function jobOf(run: Job['run'], name = 'job'): Job {
  return { name, description: 'A test.', cron: '0 3 * * *', catchUp: 'latest', timeoutMs: 60_000, run }
}

const NOTHING = jobOf(async () => ({}))
const TWICE = jobOf(async () => assert.fail('twice'))

async function readRun(job = 'job') {
  const [run] = await world.db.sql`select state, runner, summary, error from job_run where job = ${job}`
  return { ...run }
}

/** A job that says when it has begun, and ends when it is let go. */
function heldJob() {
  const events = new EventEmitter()
  const begun = once(events, 'begun')
  const job = jobOf(async () => {
    const released = once(events, 'release')
    events.emit('begun')
    await released
    return {}
  })
  return { job, begun, release: () => events.emit('release') }
}

test('a run is recorded with what it did', async () => {
  const job = jobOf(async () => ({ tasks: 3 }))
  assert.deepEqual(await executeJob(first.context, job, SLOT), { tasks: 3 })
  assert.deepEqual(await readRun(), { state: 'done', runner: 'runner-1', summary: { tasks: 3 }, error: null })
})

test('a run that fails is recorded with why, and throws it', async () => {
  const failing = jobOf(async () => {
    throw new UnavailableError('The service sleeps.')
  })
  await assert.rejects(executeJob(first.context, failing, SLOT), { code: 'unavailable' })
  assert.deepEqual(await readRun(), {
    state: 'failed',
    runner: 'runner-1',
    summary: null,
    error: 'The service sleeps.',
  })
})

test('a run that takes too long is told to stop, and recorded with why', async () => {
  const endless: Job = {
    ...jobOf(async ({ signal }) => {
      if (!signal.aborted) await once(signal, 'abort')
      throw signal.reason
    }),
    timeoutMs: 60,
  }
  await assert.rejects(executeJob(first.context, endless, SLOT), { name: 'TimeoutError' })
  const { state, error } = await readRun()
  assert.deepEqual({ state, error }, { state: 'failed', error: 'The job did not end within 0.001 minutes.' })
})

test('while a runner has a job others are told that it is busy, and may run another one', async () => {
  const { job, begun, release } = heldJob()
  const running = executeJob(first.context, job, SLOT)
  await begun
  assert.equal(await executeJob(second.context, TWICE, SLOT), BUSY)
  assert.equal(await executeJob(first.context, TWICE, SLOT), BUSY)
  assert.deepEqual(await executeJob(second.context, { ...NOTHING, name: 'other' }, SLOT), {})
  release()
  await running
  assert.deepEqual(await executeJob(second.context, NOTHING, SLOT), {})
})

/** Until another runner gets the job. */
function untilFree(): Promise<void> {
  return until('the job is free', async () => (await executeJob(second.context, NOTHING, SLOT)) !== BUSY)
}

test('no login that is not the owner can take the lock of a job', async () => {
  const { job, begun, release } = heldJob()
  await world.db.begin(async (tx) => {
    await tx`set local role storerank_editor`
    await assert.rejects(
      tx.savepoint((inner) => inner`select hold_lock(${`job ${job.name}`})`),
      { code: '42501' },
    )
    await assert.rejects(
      tx.savepoint((inner) => inner`select from named_lock for update`),
      { code: '42501' },
    )
    await tx`select pg_advisory_lock(hashtext('storerank job'), hashtext(${job.name}))`
    const running = executeJob(first.context, job, SLOT)
    await begun
    // Nor by the number that its holder has drawn, which any login may read.
    await tx`reset role`
    const [held] = await tx<
      { pid: number; key: string }[]
    >`select pid, key::text from named_lock where name = ${`job ${job.name}`}`
    const [taken] = await tx<
      { taken: boolean }[]
    >`select pg_try_advisory_lock(${held?.key ?? null}::bigint) as taken`
    assert.equal(taken?.taken, false)
    assert.equal(await executeJob(second.context, job, SLOT), BUSY)
    release()
    assert.deepEqual(await running, {})
  })
  await untilFree()
})

test('the lock of a killed runner dies with its connection', async () => {
  const killed = await world.openRunner()
  const { job, begun } = heldJob()
  // It never ends, as nothing that was killed does.
  void executeJob(killed.context, job, SLOT)
  await begun
  await world.db.sql`
    select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and application_name = ${killed.context.runner}`
  await untilFree()
})

test('a job whose lock was cut goes on to its end, and so does its runner', async () => {
  const runner = await world.openRunner()
  const { job, begun, release } = heldJob()
  const running = executeJob(runner.context, job, SLOT)
  await begun
  const cut = () => world.db.sql`
    select pg_terminate_backend(pid) from pg_stat_activity join pg_locks using (pid)
    where application_name = ${runner.context.runner} and locktype = 'advisory'`
  await until('its lock is gone', async () => (await cut()).count === 0)
  await runner.context.db.sql`select 1`
  release()
  assert.deepEqual(await running, {})
  assert.equal((await readRun()).state, 'done')
  await runner.stop()
})

test('the lock of a frozen runner ends when the server has heard nothing of it for a while', async (t) => {
  const { context } = await world.openRunner()
  t.mock.timers.enable({ apis: ['setInterval'] })
  const silences: number[] = []
  const openSession = (idleMs: number) => {
    silences.push(idleMs)
    return context.db.openSession(100)
  }
  const { job, begun } = heldJob()
  // It never ends, as nothing that is frozen does.
  void executeJob({ ...context, db: { ...context.db, openSession } }, job, SLOT)
  await begun
  await untilFree()
  assert.deepEqual(silences, [120_000])
})

test('who has the lock of a long job says so, several times within that while', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const { job, begun, release } = heldJob()
  const running = executeJob(first.context, job, SLOT)
  await begun
  const readLast = async () => {
    const [holder] = await world.db.sql<{ said: string }[]>`
      select query_start::text as said from pg_stat_activity join pg_locks using (pid)
      where datname = current_database() and locktype = 'advisory'`
    return holder?.said ?? null
  }
  const before = await readLast()
  assert.notEqual(before, null)
  t.mock.timers.tick(30_000)
  await until('it has said something', async () => (await readLast()) !== before)
  assert.notEqual(await readLast(), null)
  release()
  await running
})

test('a slot that nobody ran is recorded as missed, and a run that has begun is not touched', async () => {
  await recordMissedRun(world.db.sql, 'job', SLOT, 'Nobody was there.')
  assert.deepEqual((await readRun()).state, 'missed')
  await executeJob(first.context, NOTHING, SLOT)
  await recordMissedRun(world.db.sql, 'job', SLOT, 'Nobody was there.')
  assert.deepEqual((await readRun()).state, 'done')
})

test('an enqueued run is done once, by one of several runners', async () => {
  const runs: string[] = []
  const job = jobOf(async ({ runner }) => {
    runs.push(runner)
    return {}
  }, 'shared')
  const runners = await Promise.all([world.openRunner(), world.openRunner()])
  for (const { context } of runners) await startRunner(context, [job])
  await enqueueRun(world.db, first.context.queue, 'shared', SLOT)
  await until('the run is done', async () => (await readRun('shared')).state === 'done')
  for (const runner of runners) await runner.stop()
  assert.equal(runs.length, 1)
})

test('a run whose process was killed counts as failed after a day, one that goes on does not', async () => {
  const { job, begun, release } = heldJob()
  const running = executeJob(first.context, job)
  await begun
  await world.db.sql`
    insert into job_run (job, slot, state, started_at)
    select 'killed', begun, 'running', begun from unnest(array[now() - interval '25 hours',
      now() - interval '23 hours']) begun`
  assert.equal(await endLostRuns(world.db), 1)
  assert.equal(await endLostRuns(world.db), 0)
  const rows = await world.db.sql`select state, error from job_run where job = 'killed' order by slot`
  assert.deepEqual(
    rows.map((row) => ({ ...row })),
    [
      { state: 'failed', error: 'Its process was killed in the middle of it.' },
      { state: 'running', error: null },
    ],
  )
  assert.equal((await readRun()).state, 'running')
  release()
  await running
  assert.equal((await readRun()).state, 'done')
})

test('an enqueued run that finds the job busy is recorded as missed', async () => {
  const { job, begun, release } = heldJob()
  const running = executeJob(first.context, { ...job, name: 'held' }, new Date('2026-11-21T02:00:00Z'))
  await begun
  const third = await world.openRunner()
  await startRunner(third.context, [{ ...job, name: 'held' }])
  await enqueueRun(world.db, third.context.queue, 'held', SLOT)
  const missed = async () => {
    const [run] = await world.db.sql`select state from job_run where job = 'held' and slot = ${SLOT}`
    return run?.state === 'missed'
  }
  await until('the slot is missed', missed)
  release()
  await running
  await third.stop()
})

test('a run that ends early because its runner is stopped is done by another one', async () => {
  const events = new EventEmitter()
  const begun = once(events, 'begun')
  const endless = jobOf(async ({ signal }) => {
    events.emit('begun')
    await once(events, 'never', { signal })
    return {}
  }, 'stopped')
  const stopped = await world.openRunner()
  await startRunner(stopped.context, [endless])
  await enqueueRun(world.db, first.context.queue, 'stopped', SLOT)
  await begun
  await stopped.stop()
  assert.equal((await readRun('stopped')).state, 'failed')

  const other = await world.openRunner()
  await startRunner(other.context, [jobOf(async () => ({}), 'stopped')])
  await endRetryPauses(world)
  await until('another runner has done it', async () => (await readRun('stopped')).state === 'done')
  await other.stop()
})

test('a run that could not begin, as the database was away, is tried again', async () => {
  const { context, stop } = await world.openRunner()
  let connections = 0
  const db = {
    ...context.db,
    openSession: (idleMs: number) => {
      connections += 1
      if (connections === 1) throw new Error('sorry, too many clients already')
      return context.db.openSession(idleMs)
    },
  }
  await startRunner({ ...context, db }, [jobOf(async () => ({}), 'delayed')])
  await enqueueRun(world.db, first.context.queue, 'delayed', SLOT)
  await until('it is done', async () => {
    await endRetryPauses(world)
    return (await readRun('delayed')).state === 'done'
  })
  await stop()
})
