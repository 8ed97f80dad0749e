/**
 * What the rules of alerts cost beside a day's collection: a project of 10,000 keywords and one of 100,000,
 * each with a history and a rule of each kind that speaks of ranks. A day's results are stored in batches, as
 * collecting stores them, and then all rules are looked at: CPU of the session, wall time, buffers, what ten
 * times as many keywords cost, and what further rules cost beside. `--keywords 20000` is a quick look, at a
 * tenth of it and at all of it.
 */
import { readFile } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import type { AlertProject } from '../../src/alerts/evaluate.ts'
import { evaluateSlot, readAlertProjects, readDueSlot } from '../../src/alerts/evaluate.ts'
import { gatherMessages } from '../../src/alerts/gather.ts'
import { analyzeGrownTables } from '../../src/db/analyze.ts'
import type { Database, Transaction } from '../../src/db/database.ts'
import { sql } from '../../src/db/sql.ts'
import { type Bar, printBars } from './bars.ts'
import { withDatabase } from './database.ts'
import { fillHistory, PROJECT } from './history.ts'

const { values } = parseArgs({
  options: {
    keywords: { type: 'string', default: '100000' },
    days: { type: 'string', default: '8' },
    apps: { type: 'string', default: '100' },
  },
})
const KEYWORDS = Number(values.keywords)
const SIZES = [Math.ceil(KEYWORDS / 10), KEYWORDS]
const DAYS = Number(values.days)
const APPS = Number(values.apps)
const BATCH = 500
/** Evaluations of which the cheapest counts; each is rolled back. */
const TIMES = 3
const LIMIT_MS = 600_000

const RULES: readonly Readonly<Record<string, string | number>>[] = [
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
const FURTHER: readonly { readonly what: string; readonly rule: (typeof RULES)[number] }[] = [
  {
    what: 'a second rule of a kind',
    rule: { kind: 'top_crossed', name: 'entered', top: 10, direction: 'up' },
  },
  {
    what: 'a rule for a quarter of the keywords, against 7 days before',
    rule: {
      kind: 'rank_moved',
      name: 'against 7 days',
      threshold: 10,
      compared_with: '7 days',
      tag: 'brand',
    },
  },
  {
    what: 'a rule against the best, which reads each day',
    rule: { kind: 'rank_moved', name: 'against the best', threshold: 30, compared_with: 'best' },
  },
]

interface Cost {
  readonly cpuMs: number
  readonly wallMs: number
  readonly buffers: number
  readonly tempBlocks: number
  readonly events: number
}

/** The rules are of the morning of the day: nothing of the days before is due. */
async function writeRules(
  { sql: db }: Database,
  rules: readonly Record<string, string | number>[],
): Promise<void> {
  for (const rule of rules) {
    await db`insert into alert_rule ${sql.row({ project: PROJECT, name: rule.kind ?? '', channel: 'people', ...rule })}`
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

/** Nanoseconds that the process of the session has run. Linux alone tells it. */
async function readCpuNs(tx: Transaction): Promise<number> {
  const [row] = await tx<{ pid: number }[]>`select pg_backend_pid() as pid`
  return Number((await readFile(`/proc/${row?.pid}/schedstat`, 'utf8')).split(' ')[0])
}

async function readBlocks({
  sql: db,
}: Pick<Database, 'sql'>): Promise<{ buffers: number; tempBlocks: number }> {
  const [row] = await db<{ buffers: number; tempBlocks: number }[]>`
    select sum(shared_blks_hit + shared_blks_read)::bigint as buffers,
      sum(temp_blks_written)::bigint as "tempBlocks"
    from pg_stat_statements where dbid = (select oid from pg_database where datname = current_database())`
  if (row === undefined) throw new Error('An aggregate returned no row.')
  return row
}

class RolledBack extends Error {}

/** All that the job does: it looks what is due, and writes events and the messages that tell them. */
async function evaluate(db: Database, project: AlertProject): Promise<Cost> {
  const before = await readBlocks(db)
  const from = performance.now()
  let measured = { cpuMs: Number.NaN, events: 0, wallMs: Number.NaN }
  const work = async (tx: Transaction) => {
    const cpuNs = await readCpuNs(tx)
    const slot = await readDueSlot({ sql: tx }, project)
    if (slot === null) throw new Error('Nothing is due.')
    const events = await evaluateSlot(tx, { project, slot })
    await gatherMessages(tx, project)
    measured = {
      events,
      cpuMs: ((await readCpuNs(tx)) - cpuNs) / 1_000_000,
      wallMs: performance.now() - from,
    }
    throw new RolledBack()
  }
  await db.begin(work, { name: 'The bench', limitMs: LIMIT_MS }).catch((error) => {
    if (!(error instanceof RolledBack)) throw error
  })
  const after = await readBlocks(db)
  return {
    ...measured,
    buffers: after.buffers - before.buffers,
    tempBlocks: after.tempBlocks - before.tempBlocks,
  }
}

interface Measured extends Cost {
  readonly noteMs: number
  /** Of each further rule, beside the others. */
  readonly furtherCpuMs: readonly number[]
}

/** The cheapest of some. */
async function evaluateOften(
  db: Database,
  project: AlertProject,
  say: (line: string) => void,
): Promise<Cost> {
  const costs: Cost[] = []
  for (let n = 1; n <= TIMES; n += 1) {
    say(`evaluation ${n}`)
    costs.push(await evaluate(db, project))
  }
  return costs.reduce((a, b) => (b.cpuMs < a.cpuMs ? b : a))
}

async function measure(keywords: number): Promise<Measured> {
  let measured: Measured | undefined
  await withDatabase(async (db) => {
    const say = (line: string) => process.stderr.write(`${keywords} keywords: ${line}\n`)
    await db.sql`create extension if not exists pg_stat_statements schema public`
    await fillHistory(db, { keywords, days: DAYS, apps: APPS }, say)
    await db.sql`insert into alert_channel (name, kind, address)
      values ('people', 'email', 'people@example.com')`
    await writeRules(db, RULES)
    await analyzeGrownTables(db)
    say('the results of a day')
    const noteMs = await storeDay(db)
    const [project] = await readAlertProjects(db)
    if (project === undefined) throw new Error('No project has rules.')
    const cheapest = await evaluateOften(db, project, say)
    const furtherCpuMs: number[] = []
    for (const { what, rule } of FURTHER) {
      const sum = furtherCpuMs.reduce((a, b) => a + b, cheapest.cpuMs)
      await writeRules(db, [rule])
      const { cpuMs } = await evaluateOften(db, project, (line) => say(`${line} with ${what}`))
      furtherCpuMs.push(cpuMs - sum)
    }
    measured = { ...cheapest, noteMs, furtherCpuMs }
  })
  if (measured === undefined) throw new Error('Nothing was measured.')
  return measured
}

const costs: Measured[] = []
for (const size of SIZES) costs.push(await measure(size))
const bars: Bar[] = []
for (const [n, size] of SIZES.entries()) {
  const cost = costs[n]
  if (cost === undefined) continue
  const what = `${size.toLocaleString('en')} keywords`
  const isWhole = n === SIZES.length - 1
  bars.push(
    { what: `${what}: CPU`, value: cost.cpuMs, unit: 'ms', ...(isWhole ? { atMost: 2_000 } : {}) },
    { what: `${what}: wall time`, value: cost.wallMs, unit: 'ms', ...(isWhole ? { atMost: 2_000 } : {}) },
    { what: `${what}: buffers a keyword`, value: cost.buffers / size, unit: '' },
    { what: `${what}: blocks of temporary files`, value: cost.tempBlocks, unit: '' },
    { what: `${what}: events`, value: cost.events, unit: '' },
    ...FURTHER.map((further, rule) => ({
      what: `${what}: CPU of ${further.what}`,
      value: cost.furtherCpuMs[rule] ?? Number.NaN,
      unit: 'ms',
    })),
    { what: `${what}: noting what is due, a keyword`, value: (cost.noteMs * 1000) / size, unit: 'µs' },
  )
}
const [small, large] = costs
if (small !== undefined && large !== undefined) {
  bars.push({
    what: 'CPU, ten times as many keywords',
    value: large.cpuMs / small.cpuMs,
    unit: '×',
    atMost: 15,
  })
}
printBars(`${RULES.length} rules, ${DAYS} days of history, results of ${APPS} apps`, bars)
