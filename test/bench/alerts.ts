/**
 * What the rules of alerts cost beside a day's collection: a project with a history and a rule of each kind
 * that speaks of ranks. A day's results are stored in batches, as collecting stores them, and then all rules
 * are looked at; of each look the cheapest of three counts, and each is rolled back.
 */
import { evaluateSlot, gatherMessages, readAlertProjects, readDueSlot } from '../../src/alerts/run.ts'
import { analyzeGrownTables } from '../../src/db/analyze.ts'
import type { Database, Transaction } from '../../src/db/database.ts'
import { atMost, type Figure, type Measured, plain } from './bars.ts'
import { fillHistory, PROJECT } from './history.ts'
import { readSessionCpuMs } from './server-load.ts'

const DAYS = 8
const APPS = 100
const BATCH = 500
const TIMES = 3
const LIMIT_MS = 600_000

type Rule = Readonly<Record<string, string | number>>

const RULES: readonly Rule[] = [
  { kind: 'rank_moved', threshold: 5, threshold_11_to_30: 8, threshold_beyond: 11 },
  { kind: 'top_crossed', top: 10, direction: 'down' },
  { kind: 'overtaken', top: 10 },
  { kind: 'not_measured', threshold: 1 },
  { kind: 'visibility_moved', threshold: 5, tag: 'brand' },
  { kind: 'share_of_voice_moved', threshold: 5 },
  { kind: 'top_count_moved', threshold: 3, top: 10, role: 'any' },
  { kind: 'new_app', threshold: 10, top: 10 },
]

/** Each is added to those before it. */
const FURTHER: Readonly<Record<string, Rule>> = {
  'a second rule of a kind': { kind: 'top_crossed', name: 'entered', top: 10, direction: 'up' },
  'a rule against 7 days before': {
    kind: 'rank_moved',
    name: 'against 7 days',
    threshold: 10,
    compared_with: '7 days',
    tag: 'brand',
  },
  'a rule against the best': {
    kind: 'rank_moved',
    name: 'against the best',
    threshold: 30,
    compared_with: 'best',
  },
}

/** The rules are of the morning of the day: nothing of the days before is due. */
async function writeRules(db: Database, rules: readonly Rule[]): Promise<void> {
  for (const rule of rules) {
    const row: Rule = { project: PROJECT, name: rule.kind ?? '', channel: 'people', ...rule }
    const columns = Object.keys(row).join(', ')
    await db.sql.unsafe(
      `insert into alert_rule (${columns})
        select ${columns} from jsonb_populate_record(null::alert_rule, $1::text::jsonb)`,
      [JSON.stringify(row)],
    )
  }
}

/**
 * The results of today in batches: of a hundred keywords everybody fell by 12 in one, rose by 12 in one, and
 * nothing was stored of one.
 * @returns milliseconds in the function that notes what is due
 */
async function storeDay(db: Database): Promise<number> {
  await db.sql`create table bench_day as
    select row_number() over (order by r.target_id) as n, r.*
    from ranking r where r.slot = (select max(slot) from ranking)`
  await db.sql`analyze bench_day`
  const [row] = await db.sql<{ rows: number }[]>`select max(n) as rows from bench_day`
  const session = db.openSession(LIMIT_MS)
  try {
    await session`set track_functions = 'all'`
    for (let from = 0; from < (row?.rows ?? 0); from += BATCH) {
      await session`
        with stored as (
          insert into ranking (target_id, slot, captured_at, gap, reason, depth, results_count, app_ids)
          select target_id, slot + interval '24 hours', case when g.gap is null
            then clock_timestamp() end, g.gap, null, depth, results_count,
            case when g.gap is null then case n % 100 when 0
              then array(select generate_series(4001, 4012)) || app_ids[:depth - 12]
              when 1 then app_ids[13:] else app_ids end end
          from bench_day cross join lateral (select case when n % 100 = 2 or app_ids is null
            then 'missed' end as gap) g
          where n > ${from}::int and n <= ${from + BATCH}::int
          returning target_id, slot, gap
        )
        select note_alert_due(array_agg(target_id), array_agg(slot), array_agg(gap)) from stored`
    }
    // As collecting leaves it: rules wait for tasks that are open.
    await session`delete from task where state in ('planned', 'posting', 'posted')`
    await session`select pg_stat_force_next_flush()`
    const [noting] = await session<{ ms: number }[]>`
      select total_time as ms from pg_stat_user_functions where funcname = 'note_alert_due'`
    return noting?.ms ?? Number.NaN
  } finally {
    await session.end()
  }
}

class RolledBack extends Error {}

interface Cost {
  readonly cpuMs: number
  readonly wallMs: number
}

/** All that the job does: it looks what is due, and writes events and the messages that tell them. */
async function evaluate(db: Database): Promise<Cost> {
  const [project] = await readAlertProjects(db)
  if (project === undefined) throw new Error('No project has rules.')
  const fromMs = performance.now()
  let cost: Cost = { cpuMs: Number.NaN, wallMs: Number.NaN }
  const work = async (tx: Transaction) => {
    const [backend] = await tx<{ pid: number }[]>`select pg_backend_pid() as pid`
    const beforeMs = await readSessionCpuMs(backend?.pid ?? 0)
    const slot = await readDueSlot({ sql: tx }, project)
    if (slot === null) throw new Error('Nothing is due.')
    await evaluateSlot(tx, project, slot)
    await gatherMessages(tx, project)
    const cpuMs = (await readSessionCpuMs(backend?.pid ?? 0)) - beforeMs
    cost = { cpuMs, wallMs: performance.now() - fromMs }
    throw new RolledBack()
  }
  await db.begin(work, { name: 'The bench', limitMs: LIMIT_MS }).catch((error) => {
    if (!(error instanceof RolledBack)) throw error
  })
  return cost
}

async function evaluateOften(db: Database): Promise<Cost> {
  const costs: Cost[] = []
  while (costs.length < TIMES) costs.push(await evaluate(db))
  return costs.reduce((a, b) => (b.cpuMs < a.cpuMs ? b : a))
}

export async function measureAlerts(db: Database, keywords: number): Promise<Measured> {
  await fillHistory(db, { keywords, days: DAYS, apps: APPS }, (line) => process.stderr.write(`${line}\n`))
  await db.sql`insert into alert_channel (name, kind, address)
    values ('people', 'email', 'people@example.com')`
  await writeRules(db, RULES)
  await analyzeGrownTables(db)
  const noteMs = await storeDay(db)
  const all = await evaluateOften(db)
  const measured: Record<string, Figure> = {
    CPU: atMost(2_000, all.cpuMs, 'ms'),
    'wall time': atMost(2_000, all.wallMs, 'ms'),
    'noting what is due, a keyword': plain((noteMs * 1000) / keywords, 'µs'),
  }
  let { cpuMs } = all
  for (const [what, rule] of Object.entries(FURTHER)) {
    await writeRules(db, [rule])
    const more = await evaluateOften(db)
    measured[`CPU of ${what}`] = plain(more.cpuMs - cpuMs, 'ms')
    cpuMs = more.cpuMs
  }
  return measured
}
