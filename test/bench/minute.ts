/**
 * How near one database comes to the 200,000 tasks a minute that the service takes, with all parts at once:
 * they are planned, claimed, posted, delivered and stored at the same time, by some runners that listen, and
 * a service on loopback without limits. It ends by itself; 200,000 tasks take some minutes where service,
 * runners and database share two cores.
 */
import { cpus } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import type { Database } from '../../src/db/database.ts'
import { makePartitionsAhead } from '../../src/history/partitions.ts'
import { recordCheck } from '../../src/ledger/restored.ts'
import { planDueTasks } from '../../src/plan/plan.ts'
import { TIMINGS } from '../../src/timings.ts'
import { rememberPrices } from '../support/ledger.ts'
import { printBars } from './bars.ts'
import { withDatabase } from './database.ts'
import type { Delivered } from './delivering.ts'
import { openQuietQueue } from './runners.ts'
import { readProcessCpuMs, readServerLoad } from './server-load.ts'
import { SETTINGS } from './settings.ts'
import { type Partner, startPartner } from './talk.ts'

const { values } = parseArgs({
  options: { tasks: { type: 'string', default: '200000' }, runners: { type: 'string', default: '2' } },
})
const TASKS = Number(values.tasks)
const RUNNERS = Number(values.runners)
const CORES = cpus().length
/** spec: Limits */
const TASKS_A_MINUTE = 200_000
const LIMIT_MS = 20 * 60_000
const LOOK_EVERY_MS = 500

/** Daily watches, each of a target of its own, of which nothing was measured yet today. */
async function fillWatches(db: Database): Promise<void> {
  await makePartitionsAhead(db, 1)
  await db.sql`insert into project (name) values ('bench')`
  await db.sql`
    insert into target (store, function, subject, location_code, language_code)
    select 'ios_store', 'app_searches', 'keyword ' || n, 2840, 'en' from generate_series(1, ${TASKS}::int) n`
  await db.sql`
    insert into watch_period (kind, watch_id, project, target_id, every, depth, priority, started_at,
      first_slot)
    select 'keyword', id, 'bench', id, '1 day', 100, 1, now(), slot_of('1 day', now()) from target`
  await db.sql`insert into period_change (period_id, from_slot) select id, first_slot from watch_period`
  await rememberPrices(db.sql)
  await recordCheck(db.sql)
  await db.sql`vacuum analyze`
}

/** When each step had ended, in seconds from the begin of the plan. */
interface Ends {
  planned: number
  posted: number
  stored: number
}

/** Plans while the runners work, and waits until all is stored. */
async function work(db: Database): Promise<Ends> {
  const queue = await openQuietQueue(db)
  const startedMs = performance.now()
  const passed = () => (performance.now() - startedMs) / 1000
  const ends: Ends = { planned: Number.NaN, posted: Number.NaN, stored: Number.NaN }
  const planning = planDueTasks(db, SETTINGS.budget, queue.enqueuePosts).then(() => {
    ends.planned = passed()
  })
  while (performance.now() - startedMs < LIMIT_MS) {
    await sleep(LOOK_EVERY_MS)
    const [open] = await db.sql<{ unsent: number; posted: number }[]>`
      select count(*) filter (where state in ('planned', 'posting')) as unsent, count(*)
        filter (where state = 'posted') as posted
      from task where state in ('planned', 'posting', 'posted')`
    if (Number.isNaN(ends.planned) || open === undefined) continue
    if (open.unsent === 0 && Number.isNaN(ends.posted)) ends.posted = passed()
    if (open.unsent + open.posted > 0) continue
    ends.stored = passed()
    break
  }
  await planning
  await queue.stop(1_000)
  return ends
}

async function readBooks(db: Database): Promise<{ captures: number; charges: number }> {
  const [books] = await db.sql<{ captures: number; charges: number }[]>`
    select (select count(*) from ranking where gap is null) as captures,
      (select count(*) from charge where kind = 'charge') as charges`
  return books ?? { captures: 0, charges: 0 }
}

await withDatabase(async (db) => {
  await fillWatches(db)
  const service = startPartner('delivering.ts')
  const { url } = await service.listen<{ url: string }>()
  const runners: Partner[] = Array.from({ length: RUNNERS }, () =>
    startPartner('runner.ts', [db.url, url, 'listen']),
  )
  const listening = await Promise.all(runners.map((runner) => runner.listen<{ postbackUrl: string }>()))
  await service.ask(listening.map(({ postbackUrl }) => postbackUrl))
  const read = async () => ({
    planner: process.cpuUsage().user / 1000 + process.cpuUsage().system / 1000,
    runners: await readProcessCpuMs(runners.map(({ pid }) => pid)),
    service: await readProcessCpuMs([service.pid]),
    server: (await readServerLoad(db)).cpuMs,
  })
  const before = await read()
  const ends = await work(db)
  const after = await read()
  const { posts, refused } = await service.ask<Delivered>('count')
  const { captures, charges } = await readBooks(db)
  for (const partner of [...runners, service]) partner.end()
  const each = (part: keyof typeof before) => ((after[part] - before[part]) * 1000) / TASKS
  const [nodeUs, serverUs, serviceUs] = [each('planner') + each('runners'), each('server'), each('service')]
  const perMinute = (TASKS * 60) / ends.stored
  const mostPerMinute = (CORES * 60_000_000) / (nodeUs + serverUs + serviceUs)
  const coresOf = (us: number) => (us * TASKS_A_MINUTE) / 60_000_000
  printBars(`${TASKS} tasks planned, posted, delivered and stored at once by ${RUNNERS} runners`, [
    { what: 'results stored', value: captures, unit: '', atLeast: TASKS, atMost: TASKS },
    { what: 'tasks paid for', value: charges, unit: '', atLeast: TASKS, atMost: TASKS },
    { what: 'all planned after', value: ends.planned, unit: 's' },
    { what: 'all posted after', value: ends.posted, unit: 's' },
    { what: 'all stored after', value: ends.stored, unit: 's' },
    { what: 'posts a second until then', value: posts / ends.posted, unit: '/s' },
    { what: 'tasks a minute', value: perMinute, unit: '/min' },
    {
      what: `of the ${TASKS_A_MINUTE} that the service takes`,
      value: (perMinute * 100) / TASKS_A_MINUTE,
      unit: '%',
    },
    { what: 'deliveries that came again', value: refused, unit: '' },
    { what: 'CPU of the runners a task', value: nodeUs, unit: 'µs' },
    { what: 'CPU of PostgreSQL a task', value: serverUs, unit: 'µs' },
    { what: 'CPU of the service a task', value: serviceUs, unit: 'µs' },
    { what: `the most that ${CORES} cores allow`, value: mostPerMinute, unit: '/min' },
    { what: `${TASKS_A_MINUTE} tasks a minute: runners`, value: coresOf(nodeUs), unit: 'cores' },
    { what: `${TASKS_A_MINUTE} tasks a minute: PostgreSQL`, value: coresOf(serverUs), unit: 'cores' },
    { what: `tasks of a post`, value: TASKS / posts, unit: '', atMost: TIMINGS.tasksPerPost },
  ])
})
process.exit()
