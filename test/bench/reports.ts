/**
 * What questions about a long history cost: CPU of the database, median of five, without planner statistics and with those that the
 * job makes. The bars are those of the default, 36.5 million
 * observations; `--keywords 200 --days 60` is a quick look. It ends with 1 when one is missed. The figures of different machines
 * do not compare; pages and partitions do. With TEST_CITUS_URL the history is distributed, and the CPU is that of all nodes.
 */
import { readFile } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import { analyzeGrownTables } from '../../src/db/analyze.ts'
import type { Database } from '../../src/db/database.ts'
import { drawRows } from '../support/rows.ts'
import { noteBars } from './bars.ts'
import { withDatabase } from './database.ts'
import { fillHistory } from './history.ts'
import { QUESTIONS, type Question } from './questions.ts'

const TIMES = 5
const SESSION_MS = 3_600_000
const IS_DISTRIBUTED = process.env.TEST_CITUS_URL !== undefined

interface Cost {
  readonly ms: number
  readonly rows: number
  readonly pages: number
  readonly partitions: number
}

interface PlanNode {
  readonly 'Relation Name'?: string
  readonly 'Actual Loops': number
  readonly 'Shared Hit Blocks': number
  readonly 'Shared Read Blocks': number
  readonly Plans?: readonly PlanNode[]
}

/** Nanoseconds that the servers' processes have run; null where they are not on this machine. */
async function cpuOf(pids: readonly number[]): Promise<number | null> {
  const texts = await Promise.all(
    pids.map((pid) => readFile(`/proc/${pid}/schedstat`, 'utf8').catch(() => null)),
  )
  if (texts.every((text) => text === null)) return null
  return texts.reduce((total, text) => total + Number(text?.split(' ')[0] ?? 0), 0)
}

/** The session of a question alone, or all sessions of all nodes of Citus: each of them may work for it. */
async function listProcesses(session: Database['sql']): Promise<readonly number[]> {
  const [backend] = await session<{ pid: number }[]>`select pg_backend_pid() as pid`
  if (!IS_DISTRIBUTED) return [backend?.pid ?? 0]
  const rows = await session<{ pid: number }[]>`
    select unnest(string_to_array(result, ' '))::int as pid
    from run_command_on_all_nodes($$select string_agg(pid::text, ' ') from pg_stat_activity where datname = current_database()$$)`
  return rows.map(({ pid }) => pid)
}

async function measure(db: Database, { query }: Question): Promise<Cost> {
  const session = db.openSession(SESSION_MS)
  try {
    await session`set max_parallel_workers_per_gather = 0`
    // Which also opens the connections to the nodes.
    if (IS_DISTRIBUTED) await session.unsafe(query)
    const pids = await listProcesses(session)
    const times: number[] = []
    let rows = 0
    for (let n = 0; n < TIMES; n += 1) {
      const startedMs = performance.now()
      const before = await cpuOf(pids)
      // The rows stay at the server, which has to make each of them.
      const [counted] = await session.unsafe<{ rows: number }[]>(
        `select count(q)::int as rows from (${query} offset 0) q`,
      )
      const after = await cpuOf(pids)
      times.push(
        before === null || after === null ? performance.now() - startedMs : (after - before) / 1_000_000,
      )
      rows = counted?.rows ?? 0
    }
    return {
      ms: times.toSorted((a, b) => a - b)[TIMES >> 1] ?? Number.NaN,
      rows,
      ...(await explain(session, query)),
    }
  } finally {
    await session.end()
  }
}

async function explain(session: Database['sql'], query: string): Promise<Pick<Cost, 'pages' | 'partitions'>> {
  const [row] = await session.unsafe<{ 'QUERY PLAN': readonly { Plan: PlanNode }[] }[]>(
    `explain (analyze, buffers, timing off, format json) ${query}`,
  )
  const plan = row?.['QUERY PLAN'][0]?.Plan
  if (plan === undefined) throw new Error(`The server explains nothing of: ${query}`)
  const read = new Set(
    list(plan).flatMap((node) => (node['Actual Loops'] > 0 ? [node['Relation Name'] ?? ''] : [])),
  )
  return {
    pages: plan['Shared Hit Blocks'] + plan['Shared Read Blocks'],
    partitions: [...read].filter((name) => /^ranking_\d+$/.test(name)).length,
  }
}

function list(node: PlanNode): PlanNode[] {
  return [node, ...(node.Plans ?? []).flatMap(list)]
}

/** With statistics and without. A question that finds nothing has measured nothing. */
function slowest(costs: readonly Cost[]): number {
  return costs.every(({ rows }) => rows > 0) ? Math.max(...costs.map(({ ms }) => ms)) : Number.NaN
}

const { values } = parseArgs({
  options: {
    keywords: { type: 'string', default: '1000' },
    days: { type: 'string', default: '365' },
    apps: { type: 'string', default: '100' },
  },
})
const size = { keywords: Number(values.keywords), days: Number(values.days), apps: Number(values.apps) }
const say = (line: string) => process.stderr.write(`${line}\n`)

await withDatabase(async (db) => {
  await fillHistory(db, size, say)
  const costs: Cost[][] = QUESTIONS.map(() => [])
  for (const statistics of [false, true]) {
    if (statistics) await analyzeGrownTables(db)
    for (const [n, { name, barMs, query }] of QUESTIONS.entries()) {
      say(`${name}, ${statistics ? 'with' : 'without'} statistics`)
      // Only what is a value is sent to the nodes (docs/scale.md).
      const asked = IS_DISTRIBUTED ? query.replace(/now\(\) - interval '[^']+'/, '(select $&)') : query
      costs[n]?.push(await measure(db, { name, barMs, query: asked }))
    }
  }
  const isMet = (n: number) => slowest(costs[n] ?? []) <= (QUESTIONS[n]?.barMs ?? Number.POSITIVE_INFINITY)
  const lines = QUESTIONS.map(({ name, barMs }, n) => {
    const [without, withThem] = costs[n] ?? []
    const figures = [without, withThem].flatMap((cost) =>
      cost === undefined ? [] : [cost.ms.toFixed(1), cost.pages, cost.partitions],
    )
    return [name, without?.rows ?? '', ...figures, barMs ?? '', barMs === null ? '' : isMet(n) ? 'yes' : 'NO']
  })
  const of = (what: string) => [`ms ${what}`, 'pages', 'partitions']
  const header = ['question', 'rows', ...of('without statistics'), ...of('with'), 'bar', 'met']
  const observations = size.keywords * size.days * size.apps
  process.stdout.write(
    `${size.keywords} keywords × ${size.days} days × ${size.apps} apps: ${(observations / 1e6).toFixed(1)} million observations\n`,
  )
  process.stdout.write(drawRows(header, lines))
  noteBars({
    title: `${(observations / 1e6).toFixed(1)} million observations`,
    bars: QUESTIONS.flatMap(({ name, barMs }, n) =>
      barMs === null ? [] : [{ what: name, value: slowest(costs[n] ?? []), unit: 'ms', atMost: barMs }],
    ),
  })
  const missed = QUESTIONS.filter(({ barMs }, n) => barMs !== null && !isMet(n))
  const bars = QUESTIONS.filter(({ barMs }) => barMs !== null).length
  process.stdout.write(
    missed.length === 0
      ? `All ${bars} bars are met.\n`
      : `${bars - missed.length} of ${bars} bars are met; not: ${missed.map(({ name }) => name).join('; ')}.\n`,
  )
})
