/**
 * What questions about a long history cost: CPU of the database, median of five, the slower of without
 * planner statistics and with those that the job makes. Each is told on stderr with its rows, pages and
 * partitions. With TEST_CITUS_URL the history is distributed, and the CPU is that of all nodes.
 */
import { analyzeGrownTables } from '../../src/db/analyze.ts'
import type { Database } from '../../src/db/database.ts'
import { atMost, type Measured, medianOf, plain } from './bars.ts'
import { fillHistory } from './history.ts'
import { QUESTIONS } from './questions.ts'
import { readSessionCpuMs } from './server-load.ts'

const KEYWORDS = 1_000
const APPS = 100
const TIMES = 5
const SESSION_MS = 3_600_000
const IS_DISTRIBUTED = process.env.TEST_CITUS_URL !== undefined

interface PlanNode {
  readonly 'Relation Name'?: string
  readonly 'Actual Loops': number
  readonly 'Shared Hit Blocks': number
  readonly 'Shared Read Blocks': number
  readonly Plans?: readonly PlanNode[]
}

type Session = ReturnType<Database['openSession']>

/** Of a session alone, or of all sessions of all nodes of Citus: each of them may work for it. */
async function listProcesses(session: Session): Promise<readonly number[]> {
  const [backend] = await session<{ pid: number }[]>`select pg_backend_pid() as pid`
  if (!IS_DISTRIBUTED) return [backend?.pid ?? 0]
  const rows = await session<{ pid: number }[]>`
    select unnest(string_to_array(result, ' '))::int as pid from run_command_on_all_nodes($$
      select string_agg(pid::text, ' ') from pg_stat_activity where datname = current_database()$$)`
  return rows.map(({ pid }) => pid)
}

async function cpuOf(pids: readonly number[]): Promise<number> {
  const all = await Promise.all(pids.map(readSessionCpuMs))
  return all.reduce((sum, ms) => sum + ms, 0)
}

/** Milliseconds; NaN for a question that finds nothing, because it has measured nothing. */
async function ask(db: Database, query: string): Promise<number> {
  const session = db.openSession(SESSION_MS)
  try {
    await session`set max_parallel_workers_per_gather = 0`
    // Which also opens the connections to the nodes.
    if (IS_DISTRIBUTED) await session.unsafe(query)
    const pids = await listProcesses(session)
    const times: number[] = []
    let rows = 0
    while (times.length < TIMES) {
      const before = await cpuOf(pids)
      // The rows stay at the server, which has to make each of them.
      const [counted] = await session.unsafe(`select count(q)::int as rows from (${query} offset 0) q`)
      times.push((await cpuOf(pids)) - before)
      rows = counted?.rows ?? 0
    }
    process.stderr.write(`${rows} rows, ${await explain(session, query)}: `)
    return rows > 0 ? medianOf(times) : Number.NaN
  } finally {
    await session.end()
  }
}

async function explain(session: Session, query: string): Promise<string> {
  const [row] = await session.unsafe(`explain (analyze, buffers, timing off, format json) ${query}`)
  const plan: PlanNode = row?.['QUERY PLAN'][0].Plan
  const read = list(plan).flatMap((node) => (node['Actual Loops'] > 0 ? [node['Relation Name'] ?? ''] : []))
  const partitions = [...new Set(read)].filter((name) => /^ranking_\d+$/.test(name)).length
  return `${plan['Shared Hit Blocks'] + plan['Shared Read Blocks']} pages, ${partitions} partitions`
}

function list(node: PlanNode): PlanNode[] {
  return [node, ...(node.Plans ?? []).flatMap(list)]
}

export async function askQuestions(db: Database, days: number): Promise<Measured> {
  await fillHistory(db, { keywords: KEYWORDS, days, apps: APPS }, (line) => process.stderr.write(`${line}\n`))
  const slowest: Record<string, number> = {}
  for (const statistics of ['without', 'with']) {
    if (statistics === 'with') await analyzeGrownTables(db)
    for (const { name, query } of QUESTIONS) {
      // Only what is a value is sent to the nodes (docs/scale.md).
      const asked = IS_DISTRIBUTED ? query.replace(/now\(\) - interval '[^']+'/, '(select $&)') : query
      const ms = await ask(db, asked)
      process.stderr.write(`${name}, ${statistics} statistics, ${ms.toFixed(1)} ms\n`)
      slowest[name] = Math.max(slowest[name] ?? 0, ms)
    }
  }
  return Object.fromEntries(
    QUESTIONS.map(({ name, barMs }) => {
      const ms = slowest[name] ?? Number.NaN
      return [name, barMs === null ? plain(ms, 'ms') : atMost(barMs, ms, 'ms')]
    }),
  )
}
