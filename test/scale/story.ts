/**
 * `npm run scale:story`: four runners share one database, each by a way of its own, which can be cut. One is
 * killed in the middle of its work, one is cut off from everything for 30 seconds, and the clock of one is
 * two hours ahead. When all is settled the books of the service, our money and our history are compared, as
 * the crash harness does it. It takes one to four minutes, and ends with 1 when they are not exact.
 * `--keywords N` are watched (400), `--log FILE` is what the runners write.
 */
import { openSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { compareBooks } from '../crash/books.ts'
import { isClean, listFindings } from '../crash/report.ts'
import { countDeaths, killRunners, type Runner, startRunnerProcess } from '../crash/runners.ts'
import { startPostgres, startSandboxProcess } from '../crash/servers.ts'
import { settle } from '../crash/settle.ts'
import { startWire } from '../crash/wire.ts'
import { createWorld, shortenHeartbeat, type World, watchProjects } from '../crash/world.ts'
import { rememberPrices } from '../support/ledger.ts'
import { createRandom } from '../support/random.ts'
import { drawRows } from '../support/rows.ts'
import { settingsOf } from '../support/sandbox-process.ts'
import { type Address, type Relay, startRelay } from './relay.ts'

const CUT_MS = 30_000
const TWO_HOURS_MS = 2 * 3_600_000
/** What was sent into a way that is cut arrives when it is mended. */
const QUIET_MS = CUT_MS + 60_000
const OVERDUE_MS = 5_000
const READY_MS = 400
const CALLS_PER_WINDOW = 600
const SETTLE_WITHIN_MS = 8 * 60_000
const LOOK_EVERY_MS = 100
/** New slots begin while one of the runners is away. */
const SLOT_EVERY_MS = 7_000
const SEED = 7
/** A runner is killed when so much is paid for, and another one cut off after so much. */
const KILL_AT_TASKS = 60
const CUT_AT_TASKS = 150

interface Member {
  readonly name: string
  readonly runner: Runner
  /** To the database and to the service. */
  readonly way: readonly Relay[]
}

type Scene = Awaited<ReturnType<typeof openScene>>

const ends = new AsyncDisposableStack()
const startedMs = performance.now()

function tell(what: string): void {
  const seconds = Math.round((performance.now() - startedMs) / 1000)
  process.stdout.write(`${String(seconds).padStart(4)} s  ${what}\n`)
}

async function leave(exitCode: number): Promise<never> {
  await ends.disposeAsync()
  process.exit(exitCode)
}

async function openScene(keywords: number, logFile: string) {
  const random = createRandom(SEED)
  const postgres = await startPostgres()
  ends.defer(postgres.stop)
  const sandbox = await startSandboxProcess({ seed: SEED, readyMs: READY_MS, clockOffsetMs: 0 })
  ends.defer(sandbox.stop)
  ends.defer(killRunners)
  const wire = await startWire(sandbox.url, random)
  ends.defer(wire.close)
  const world = await createWorld(postgres.url, keywords, 1)
  ends.defer(world.close)
  await shortenHeartbeat(world.sql)
  await watchProjects(world.sql, keywords)
  // Until the first answer at a price only one post is in flight, which may be that of the runner that is cut
  // off.
  await rememberPrices(world.sql)
  const logFd = openSync(logFile, 'a')
  const members: Member[] = []
  for (const place of [1, 2, 3, 4]) {
    const servers = [addressOf(world.url), addressOf(wire.url)]
    const way = await Promise.all(servers.map((server) => startRelay('127.0.0.1', server)))
    const clockAheadMs = place === 4 ? TWO_HOURS_MS : 0
    const ports = way.map(({ port }) => port)
    const env = makeSettings(world, ports, clockAheadMs)
    members.push({ name: `runner ${place}`, way, runner: startRunnerProcess({ env, logFd }) })
  }
  return { world, wire, sandbox, members }
}

function addressOf(url: string): Address {
  const { hostname: host, port } = new URL(url)
  return { host, port: Number(port) }
}

function makeSettings(world: World, ports: readonly number[], clockAheadMs: number) {
  const [databasePort = 0, servicePort = 0] = ports
  const databaseUrl = new URL(world.url)
  databaseUrl.port = String(databasePort)
  return {
    ...settingsOf(databaseUrl.href, `http://127.0.0.1:${servicePort}`),
    RECONCILE_QUIET: `${QUIET_MS}ms`,
    OVERDUE_AFTER: `${OVERDUE_MS}ms`,
    CALLS_PER_MINUTE: String(CALLS_PER_WINDOW),
    MAX_USD_PER_DAY: (world.maxDayMicros / 1_000_000).toFixed(6),
    TEST_CLOCK_AHEAD_MS: String(clockAheadMs),
  }
}

async function untilPaid(world: World, tasks: number): Promise<void> {
  while ((await world.countPaid()) < tasks) await sleep(LOOK_EVERY_MS)
}

async function countStored({ sql }: World): Promise<number> {
  const [row] = await sql<{ stored: number }[]>`select count(*) as stored from ranking where gap is null`
  return row?.stored ?? 0
}

async function play({ world, members }: Scene): Promise<Runner[]> {
  const [killed, cutOff, steady, ahead] = members as [Member, Member, Member, Member]
  await Promise.all(members.map(({ runner }) => runner.ready))
  tell(`four runners are at work; the clock of ${ahead.name} is two hours ahead`)
  await untilPaid(world, KILL_AT_TASKS)
  const reaching = killed.runner.reach(30_000)
  killed.runner.arm({ points: ['between answer and settling'], skip: 0, action: 'kill' })
  const reached = await reaching
  killed.runner.signal('SIGKILL')
  await killed.runner.ended
  if (reached === null) throw new Error(`${killed.name} had no answer to a post in its hands within 30 s.`)
  tell(`${killed.name} is killed (-9), with the answer to a post in its hands`)
  await untilPaid(world, CUT_AT_TASKS)
  const before = await countStored(world)
  for (const relay of cutOff.way) relay.cut()
  tell(`${cutOff.name} is cut off from the database and the service for ${CUT_MS / 1000} s`)
  for (let cutMs = 0; cutMs < CUT_MS; cutMs += SLOT_EVERY_MS) {
    await world.jump('1 hour')
    await sleep(Math.min(SLOT_EVERY_MS, CUT_MS - cutMs))
  }
  const stored = (await countStored(world)) - before
  if (stored === 0) throw new Error(`The others stored nothing while ${cutOff.name} was cut off.`)
  tell(`meanwhile the others stored ${stored} results`)
  for (const relay of cutOff.way) relay.mend()
  tell(
    `${cutOff.name} is connected again; what is open is settled after a quiet time of ${QUIET_MS / 1000} s`,
  )
  return [cutOff.runner, steady.runner, ahead.runner]
}

/** What each runner did, by the calls that it made. */
async function printShares({ sql }: World, members: readonly Member[]): Promise<void> {
  const rows = await sql<{ pid: number; posts: number; results: number }[]>`
    select split_part(runner, ':', 2)::int as pid, count(*) filter (where kind = 'task_post') as posts,
      count(*) filter (where kind = 'task_get') as results
    from api_call group by 1`
  const shares = members.map(({ name, runner }) => {
    const { posts = 0, results = 0 } = rows.find(({ pid }) => pid === runner.pid) ?? {}
    return [name, posts, results]
  })
  process.stdout.write(drawRows(['', 'posts', 'results asked for'], shares))
}

async function run(keywords: number, logFile: string): Promise<number> {
  const scene = await openScene(keywords, logFile)
  const { world, wire, sandbox, members } = scene
  const runners = await play(scene)
  await settle(world, runners, null, SETTLE_WITHIN_MS)
  tell('everything is settled')
  await printShares(world, members)
  const books = { world, sandbox, wire, callsPerWindow: CALLS_PER_WINDOW }
  const findings = { ...(await compareBooks(books, createRandom(SEED))), died: countDeaths() }
  process.stdout.write(drawRows(['what', 'how many'], listFindings(findings)))
  for (const sample of findings.samples) process.stdout.write(`${sample}\n`)
  process.stdout.write(isClean(findings) ? 'exact\n' : 'NOT EXACT\n')
  return isClean(findings) ? 0 : 1
}

const { values } = parseArgs({
  options: {
    keywords: { type: 'string', default: '400' },
    log: { type: 'string', default: '/dev/null' },
  },
})
for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => void leave(130))
try {
  await leave(await run(Number(values.keywords), values.log))
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.stack : error}\n`)
  await leave(1)
}
