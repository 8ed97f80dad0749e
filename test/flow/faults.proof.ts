/**
 * Everything that can go wrong, goes wrong at once: each kind of fault on one occasion in twenty, over 2,000
 * keywords. In the end every slot has its outcome, and the service's own books show each measurement charged
 * once.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { JOBS } from '../../jobs/index.ts'
import { StorerankError } from '../../src/errors.ts'
import { giveUpResults } from '../../src/ledger/task-failures.ts'
import { runCycle } from '../../src/queue/cycle.ts'
import { startRunner } from '../../src/queue/runner.ts'
import { FAULTS_OF_ALL } from '../../src/sandbox/faults.ts'
import { Secret } from '../../src/secret.ts'
import { openReceiver } from '../collect/receiving.ts'
import { askSandbox, countStates, readMoney, readOwnBooks, watch } from '../post/posting.ts'
import { endAttemptPauses, readSpendDifferences } from '../support/ledger.ts'
import { createWorld, type World, type WorldRunner } from '../support/world.ts'

const KEYWORDS = 600
const RATE = 0.05
/** A burst of minutes would end the proof before anything else. */
const BURST = { rate: 0.01, ms: 20 }
/** Each is some seconds of work; a minute's pause is over at once. */
const MAX_ROUNDS = 60

let world: World
/** Which is running, and where its results are delivered. */
let runner: WorldRunner
let postbackUrl: Secret
before(async () => {
  world = await createWorld({
    sandbox: {
      // A delivery before its post is settled is of no task that we know.
      readyMs: 200,
      callsPerMinute: 100_000,
      requestsInFlight: 100,
      faults: {
        ...Object.fromEntries(FAULTS_OF_ALL.map((kind) => [kind, RATE])),
        // There are few posts of several tasks, and few lists of ids.
        turnedIds: 0.3,
        otherQuery: 0.3,
        storeBurst: BURST,
      },
    },
    settings: { callsPerMinute: 100_000, overdueAfterMs: 1_000, reconcileQuietMs: 2_000 },
  })
})
after(() => world.close())

/**
 * A run as a person starts it: it may end early, because the service refuses the account or cannot be
 * reached.
 */
async function runAgain(): Promise<void> {
  runner = await world.openRunner({ settings: { postbackUrl } })
  const { context, stop } = runner
  const options = { waitMs: 4_000, onPhase: () => {}, onProgress: () => {} }
  await runCycle(context, await startRunner(context, []), JOBS, options).catch((error) => {
    if (!(error instanceof StorerankError)) throw error
  })
  await stop()
}

/** What waits for a pause to end, or for its turn to be asked for, does so no longer. */
async function letTimePass(): Promise<void> {
  await world.db.sql`
    update task set fetching_until = least(fetching_until, clock_timestamp()),
      ask_at = least(ask_at, clock_timestamp())
    where state = 'posted'`
  await endAttemptPauses(world.db.sql)
}

type Open = Record<'planned' | 'posting' | 'posted', number>

/** Runs again and again, as cron would, until what is open meets the condition. */
async function runUntil(what: string, isMet: (open: Open) => Promise<boolean>): Promise<void> {
  for (let round = 1; round <= MAX_ROUNDS; round += 1) {
    await runAgain()
    await letTimePass()
    if (await isMet({ planned: 0, posting: 0, posted: 0, ...(await countStates(world.db)) })) return
  }
  assert.fail(`It never came true that ${what}.`)
}

/** Only results are awaited, and in two rounds none has come. */
function isAtRest() {
  const seen: number[] = []
  return async ({ planned, posting, posted }: Open) => {
    seen.push(planned + posting > 0 ? Number.NaN : posted)
    return posted > 0 && seen.length > 2 && seen.slice(-3).every((count) => count === posted)
  }
}

test('with every kind of fault at 5 %, each of 600 slots has its outcome and is charged once', {
  timeout: 600_000,
}, async (t) => {
  const { origin, secret, stored } = await openReceiver(t, world, {
    enqueue: (tx, items) => runner.context.queue.enqueueFetch(tx, items),
  })
  postbackUrl = new Secret(`${origin}/hooks/${secret}`)
  const keywords = Array.from({ length: KEYWORDS / 2 }, (_, n) => `keyword ${n}`)
  await watch(world, keywords, { depth: 10 })
  // Told of by pingback, and fetched in both forms; the others are posted back.
  await watch(world, keywords, { depth: 10, store: 'android_store', html: true })

  await runUntil('nothing moves any more', isAtRest())
  const { struck } = await askSandbox<{ struck: Record<string, number> }>(world, 'GET', '/faults')
  for (const kind of [...FAULTS_OF_ALL, 'storeBurst']) {
    assert.ok((struck[kind] ?? 0) > 0, `${kind} never struck`)
  }
  assert.ok(stored() > 0, 'nothing was delivered')
  // No fault any more, and a clock that is where its jumps may have brought it.
  await askSandbox(world, 'PUT', '/faults', { clockOffsetMs: 60_000 })
  const { length: stuck } = (await readOwnBooks(world)).filter(({ status }) => /^4060[12]$/.test(status))
  assert.ok(stuck > 0)
  await runUntil('only what is stuck is awaited', async ({ planned, posting, posted }) => {
    return planned + posting === 0 && posted === stuck
  })

  await world.db.sql`update task set posted_at = posted_at - interval '33 days' where state = 'posted'`
  assert.equal(await giveUpResults(world.db.sql), stuck)
  await assertComplete()
  await assertChargedOnce()
})

/** Every slot has one row that says what became of it. */
async function assertComplete(): Promise<void> {
  const rows = await world.db.sql<{ outcome: string; slots: number }[]>`
    select coalesce(gap, 'captured') as outcome, count(*) as slots from ranking group by 1`
  const slots = Object.fromEntries(rows.map((row) => [row.outcome, row.slots]))
  assert.deepEqual(Object.keys(slots).sort(), ['captured', 'failed'])
  assert.equal((slots.captured ?? 0) + (slots.failed ?? 0), KEYWORDS)
  const reasons = await world.db.sql`
    select regexp_replace(reason, '[0-9a-f-]{20,}|\\d+', 'N', 'g') as reason, count(*) as slots
    from ranking where gap is not null group by 1 order by 2 desc`
  assert.ok((slots.captured ?? 0) > KEYWORDS * 0.8, JSON.stringify(reasons, null, 1))
}

/**
 * By the service's own books: a task is there once, beside attempts that failed (40101, 40103).
 */
async function assertChargedOnce(): Promise<void> {
  const books = await readOwnBooks(world)
  const attempts = Map.groupBy(books, (entry) => entry.tag.split('.')[0])
  assert.equal(attempts.size, KEYWORDS)
  for (const [task, entries] of attempts) {
    const other = entries.filter(({ status }) => status !== '40101' && status !== '40103')
    assert.ok(other.length <= 1, `the task ${task} was bought again: ${JSON.stringify(entries)}`)
    assert.ok(entries.length <= world.settings.maxAttempts)
  }
  const { charge = 0, refund = 0, ...rest } = await readMoney(world.db)
  assert.deepEqual(rest, {})
  assert.equal(
    charge + refund,
    books.reduce((sum, entry) => sum + entry.costMicros, 0),
  )
  assert.deepEqual(await readSpendDifferences(world.db.sql), [])
}
