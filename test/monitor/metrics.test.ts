import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { pino } from 'pino'
import { openDatabase, type Transaction } from '../../src/db/database.ts'
import { sendHeartbeat } from '../../src/monitor/heartbeat.ts'
import { createMetrics, type Metrics } from '../../src/monitor/metrics.ts'
import { probeDatabase } from '../../src/monitor/probes.ts'
import { startMonitorServer } from '../../src/monitor/server.ts'
import { Secret } from '../../src/secret.ts'
import { migrateLater } from '../support/database.ts'
import { until } from '../support/embedded.ts'
import { lasting } from '../support/lasting.ts'
import { createPlanning } from '../support/planning.ts'
import { buy, collect, watchKeywords } from '../support/stages.ts'
import { createWorld } from '../support/world.ts'

const log = pino({ level: 'silent' })
const world = lasting(createWorld)

/** The value of a line of the text; undefined when it is not there. */
const readValue = (text: string, name: string): string | undefined =>
  text
    .split('\n')
    .find((line) => line.startsWith(`${name} `))
    ?.slice(name.length + 1)

/** Which values metrics of ours have; undefined where there is none. */
function assertShown(text: string, expected: Readonly<Record<string, string | undefined>>): void {
  const shown = Object.keys(expected).map((name) => [name, readValue(text, `storerank_${name}`)])
  assert.deepEqual(Object.fromEntries(shown), expected)
}

/** Of each metric of ours its type and the labels that its series have. */
function readShapes(
  text: string,
): Map<string, { readonly type: string; readonly labels: readonly string[] }> {
  const types = [...text.matchAll(/^# TYPE (storerank_\w+) (\w+)$/gm)].map(
    ([, name = '', type = '']) => [name, type] as const,
  )
  return new Map(
    types.map(([name, type]) => {
      const series = text.matchAll(new RegExp(`^${name}(?:_bucket)?(?:\\{(.*)\\})? `, 'gm'))
      const labels = [...series].flatMap(([, said = '']) =>
        [...said.matchAll(/(\w+)="(?:[^"\\]|\\.)*"/g)].map(([, label = '']) => label),
      )
      return [name, { type, labels: [...new Set(labels)].sort() }]
    }),
  )
}

/** What the manual says of metrics and gives as rules. */
function readManual(): string {
  const manual = readFileSync(join(import.meta.dirname, '../../docs/operations.md'), 'utf8')
  const [, section = ''] = manual.split('\n### Metrics and heartbeats\n')
  return section.split('\n### ')[0] ?? ''
}

describe('the metrics', () => {
  test('follow the work from due to stored, with its money', async () => {
    const metrics = createMetrics(world.db, world.settings, 0)
    await metrics.read()
    await watchKeywords(world, ['yoga', 'pilates'], { depth: 100 })
    const due = { unplanned_slots: '2', due_slots: '2', account_balance_usd: undefined }
    assertShown(await metrics.render(), due)
    await buy(world)
    const posted = await metrics.render()
    assertShown(posted, {
      'tasks{state="posted"}': '2',
      due_slots: '2',
      'spent_today_usd{project="fitness"}': '0.0024',
      'spent_today_usd{project=""}': '0.0024',
      'budget_used_usd{set_by="settings",project="",period="day"}': '0.0024',
      'budget_allowed_usd{set_by="settings",project="",period="day"}': '5',
      database_up: '1',
    })
    for (const name of ['oldest_due_slot_age_seconds', 'database_statements_total'])
      assert.ok(Number(readValue(posted, `storerank_${name}`)) > 0, name)
    await collect(world)
    const stored = { 'tasks{state="posted"}': '0', due_slots: '0', oldest_due_slot_age_seconds: '0' }
    for (const text of [await metrics.render(), await metrics.render()])
      assertShown(text, { ...stored, due_to_stored_seconds_count: '2' })
    assert.match(await metrics.render(), /^nodejs_eventloop_lag_p99_seconds /m)
  })

  test('of a project that is deleted end', async (t) => {
    const planning = await createPlanning()
    t.after(() => planning.drop())
    const metrics = createMetrics(planning.db, world.settings, 0)
    const countSeries = async () => (await metrics.render()).match(/\{.*project="gone".*\}/g)?.length ?? 0
    await planning.watch('gone', ['yoga'])
    await planning.setBudget('gone', { dailyMicros: 5_000_000 })
    await planning.plan()
    await planning.measure()
    await planning.spend('gone', 1_200, new Date())
    assert.ok((await countSeries()) > 2)
    await planning.db.sql`call delete_project('gone')`
    assert.equal(await countSeries(), 0)
  })

  test('have the labels that the manual and its rules name, and none that Prometheus sets', async () => {
    await world.db.sql`
      insert into job_run (job, slot, state, ended_at) values ('track', clock_timestamp(), 'done',
        clock_timestamp())`
    const shapes = readShapes(await createMetrics(world.db, world.settings, 0).render())
    assert.deepEqual(shapes.get('storerank_job_last_success_timestamp_seconds')?.labels, ['job_name'])
    for (const [name, { labels }] of shapes)
      for (const label of ['job', 'instance']) assert.ok(!labels.includes(label), name)
    const named = [...readManual().matchAll(/\b(storerank_\w*[a-z])\b(?:\{(\w+)=)?/g)]
    assert.ok(named.length > 5)
    for (const [, name = '', label] of named) {
      assert.ok(shapes.has(name), name)
      if (label !== undefined) assert.ok(shapes.get(name)?.labels.includes(label), `${name} ${label}`)
    }
    await world.db.sql`truncate job_run`
  })

  test('keep their names and types, and are all told of here', async () => {
    const shapes = readShapes(await createMetrics(world.db, world.settings, 0).render())
    const gauges = `
      account_balance_usd budget_allowed_usd budget_cut_slots budget_used_usd build_info
      calls_last_minute calls_per_minute_allowed database_pool_waiting
      database_round_trip_seconds database_up due_slots held_posts
      job_last_success_age_seconds job_last_success_timestamp_seconds job_runs_last_day
      oldest_due_slot_age_seconds overdue_tasks plan_due_timestamp_seconds problems queue_jobs
      refused_tasks reserved_today_usd spent_today_usd tasks troubles unknown_posts
      unplanned_slots
    `.match(/\w+/g)
    const expected = [
      ...(gauges ?? []).map((name) => [`storerank_${name}`, 'gauge']),
      ['storerank_database_statements_total', 'counter'],
      ['storerank_due_to_stored_seconds', 'histogram'],
    ]
    assert.deepEqual([...shapes].map(([name, { type }]) => [name, type]).sort(), expected.sort())
  })

  test('say which version they are of, and of one run nothing of its process', async () => {
    const text = await createMetrics(world.db, { ...world.settings, isOneRun: true }, 0).render()
    assert.match(text, /^storerank_build_info\{version="\d+\.\d+\.\d+",schema="\d+-[0-9a-f]{12}"\} 1$/m)
    assert.doesNotMatch(text, /^(process|nodejs)_/m)
  })

  test('are read once, however many ask', async () => {
    const metrics = createMetrics(world.db, world.settings)
    const [one, other] = await Promise.all([metrics.read(), metrics.read()])
    assert.equal(one, other)
    assert.equal(await metrics.read(), one)
  })

  test('count every result since the process began, in as many pieces as it takes', async () => {
    const metrics = createMetrics(world.db, world.settings, 0)
    await metrics.read()
    await world.db.sql`
      insert into task (target_id, slot, slot_ends_at, state, priority, estimate_micros, payers, ended_at)
      select -n, now() - interval '1 hour', now(), 'collected', 1, 1200, '{1}', clock.at
      from generate_series(1, 12000) n, (select clock_timestamp() as at) clock`
    assert.equal(readValue(await metrics.render(), 'storerank_due_to_stored_seconds_count'), '12000')
    await world.db.sql`delete from task where target_id < 0`
  })

  test('count a result once that commits after a later one, and do not wait for ever', async () => {
    const patient = createMetrics(world.db, world.settings, 0)
    const hasty = createMetrics(world.db, world.settings, 0, undefined, 0)
    await patient.read()
    await hasty.read()
    const count = async (metrics: Metrics) =>
      Number(readValue(await metrics.render(), 'storerank_due_to_stored_seconds_count'))
    const [early, late] = [await world.openRunner(), await world.openRunner()].map(
      ({ context }) => context.db,
    )
    const store = (tx: Transaction, targetId: number) => tx`
      insert into task (target_id, slot, slot_ends_at, state, priority, estimate_micros, payers, ended_at)
      values (${targetId}, now() - interval '1 hour', now(), 'collected', 1, 1200, '{1}', clock_timestamp())`
    await early?.begin(async (tx) => {
      await store(tx, -1)
      await late?.begin((other) => store(other, -2))
      assert.deepEqual([await count(patient), await count(hasty)], [0, 1])
    })
    assert.deepEqual([await count(patient), await count(hasty)], [2, 1])
    assert.equal(await count(patient), 2)
    await world.db.sql`delete from task where target_id < 0`
  })

  test('tell of tasks on which the books differ, and not of what other programs buy', async () => {
    const metrics = createMetrics(world.db, world.settings, 0)
    const { sql } = world.db
    await sql`
      insert into audit_difference (service_id, kind, posted_at, task_id) values
        ('other', 'unknown', now(), null), ('ours', 'unknown', now(), gen_random_uuid()),
          ('cost', 'cost', now(), null)`
    await sql`insert into audit_difference (service_id, kind, posted_at, found_at)
      values ('old', 'cost', now(), now() - interval '25 hours')`
    assert.deepEqual((await metrics.read()).books, { differences: 2, duplicateMicros: 0 })
    assertShown(await metrics.render(), {
      'troubles{kind="books"}': '1',
      'problems{view="audit_problem",kind="unknown"}': '2',
      'problems{view="audit_problem",kind="cost"}': '2',
    })
    await sql`truncate audit_difference`
  })

  test('count problems of watches and tasks by kind, those of one kind behind none of another', async () => {
    const metrics = createMetrics(world.db, world.settings, 0)
    const { sql } = world.db
    await watchKeywords(world, ['chess'], { project: 'disabled' })
    await sql`update project set enabled = false where name = 'disabled'`
    await sql`
      insert into task (target_id, slot, slot_ends_at, state, priority, estimate_micros, payers, ended_at,
        problem)
      select (select min(id) from target), now() - n * interval '1 day', now(), case n when 1 then 'collected'
        else 'failed' end, 1, 1200, '{1}',
        now(), 'Told.'
      from generate_series(1, 1200) n`
    const text = await metrics.render()
    assertShown(text, {
      'problems{view="watch_problem",kind="project_disabled"}': '1',
      'problems{view="task_problem",kind="failed"}': '1000',
      'problems{view="task_problem",kind="incomplete"}': '1',
    })
    await sql`delete from task where problem = 'Told.'`
    assert.ok(!(await metrics.render()).includes('view="task_problem"'))
  })

  test('do not wait for a database that hangs, and do not ask it twice', async () => {
    const metrics = createMetrics(world.db, world.settings, 0, 200)
    await world.openRunner().then(({ context: { db } }) =>
      db.begin(async (tx) => {
        await tx`lock table account_usage`
        const texts = [await metrics.render(), await metrics.render()]
        for (const text of texts) assertShown(text, { database_up: '0', due_slots: undefined })
        const [asked] = await tx`
          select (count(*) - count(distinct query))::int as again from pg_stat_activity
          where wait_event_type = 'Lock' and datname = current_database()`
        assert.equal(asked?.again, 0)
      }),
    )
    const isUp = async () => readValue(await metrics.render(), 'storerank_database_up') === '1'
    await until('the database is up again', isUp)
  })

  test('say that the database is away, and nothing of it that is not known', async () => {
    const nowhere = openDatabase('postgres://nobody:x@127.0.0.1:9/nothing')
    const metrics = createMetrics(nowhere, world.settings, 0)
    assertShown(await metrics.render(), { database_up: '0', due_slots: undefined })
    await nowhere.close()
  })
})

describe('the address of operators', () => {
  test('answers whether the process works and can work, and nothing else', async (t) => {
    let lookedMs = 0
    const metrics = createMetrics(world.db, world.settings)
    const server = await startMonitorServer(
      {
        metrics,
        log,
        sinceLookMs: () => lookedMs,
        isReady: probeDatabase(world.db),
      },
      Object.freeze({ host: '127.0.0.1', port: 0 }),
    )
    t.after(() => server.close())
    const ask = async (path: string) => {
      const response = await fetch(`http://127.0.0.1:${server.address.port}${path}`)
      return [response.status, await response.text()] as const
    }
    assert.deepEqual(await ask('/healthz'), [200, 'ok\n'])
    assert.deepEqual(await ask('/readyz'), [200, 'ok\n'])
    assert.match((await ask('/metrics'))[1], /^storerank_database_up 1$/m)
    assert.equal((await ask('/'))[0], 404)
    lookedMs = 600_000
    await until('a schedule that hangs is told', async () => (await ask('/healthz'))[0] === 503)
    assert.match(
      (await ask('/healthz'))[1],
      /^The schedule was looked at 60\d s ago, and should be every min/,
    )
    // While the process waits for another one its loop stands still, and its thread answers.
    lookedMs = 175_000
    await until('it is well again', async () => (await ask('/healthz'))[0] === 200)
    const askUntilLate = `for await (const _ of (await import('timers/promises')).setInterval(50)) {
      const { status } = await fetch('http://127.0.0.1:${server.address.port}/healthz')
      process.stdout.write(status + ' ')
      if (status !== 200) break
    }`
    const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', askUntilLate])
    assert.match(String(stdout), /^(200 )+503 $/)
    await migrateLater(world.db.sql)
    const [ready, why] = await ask('/readyz')
    assert.equal(ready, 503)
    assert.match(why, /newer/)
    await world.db.sql`delete from drizzle.__drizzle_migrations where hash = 'later'`
  })
})

test('a process is not ready while the database is away, and says what to do', async () => {
  const nowhere = openDatabase('postgres://nobody:x@127.0.0.1:9/nothing')
  const why = await probeDatabase(nowhere)()
  assert.match(
    why ?? '',
    /^The database cannot be reached: .* Check that the server runs and that DATABASE_URL/,
  )
  await nowhere.close()
})

test('a heartbeat is one call, and its failure is nobody’s trouble here', async () => {
  const paths: string[] = []
  const server = createServer((request, response) => {
    paths.push(`${request.method} ${request.url}`)
    response.writeHead(500).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = new Secret(`http://127.0.0.1:${(server.address() as AddressInfo).port}/ping/abc`)
  await sendHeartbeat(url, log)
  assert.deepEqual(paths, ['GET /ping/abc'])
  server.closeAllConnections()
  server.close()
  await sendHeartbeat(url, log)
})
