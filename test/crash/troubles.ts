/**
 * What befalls everybody: the next slots begin, people edit, the database is cut off, crashes, is full or
 * gives up on statements, and the service has a bad time.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Random } from '../support/random.ts'
import { add, type Blows } from './blows.ts'
import type { Disturbance } from './chaos.ts'
import { cut, failStatements, occupyConnections } from './outages.ts'
import type { SandboxFaults } from './servers.ts'

const LOOK_EVERY_MS = 250
/** Business time goes on when little is left to do, yet a slot lasts longer than a dead runner's jobs. */
const SLOT_AT_LEAST_MS = 2_000
const SLOT_AT_MOST_MS = 8_000
const LITTLE_LEFT = 10

/** One loop for each, until it is over. */
export async function troubleAll(disturbance: Disturbance): Promise<void> {
  const { random } = disturbance
  await Promise.all([
    passTime(disturbance, random.fork()),
    troubleDatabase(disturbance, random.fork()),
    troubleService(disturbance, random.fork()),
  ])
}

async function passTime(disturbance: Disturbance, random: Random): Promise<void> {
  const { world, struck, isOver } = disturbance
  let jumpedAtMs = performance.now()
  while (!isOver()) {
    await sleep(LOOK_EVERY_MS)
    const sinceMs = (performance.now() - jumpedAtMs) / disturbance.pace
    try {
      const { planned, posting } = await world.countOpen()
      if (sinceMs < SLOT_AT_LEAST_MS || (planned + posting > LITTLE_LEFT && sinceMs < SLOT_AT_MOST_MS))
        continue
      if (random.chance(0.4)) add(struck, `people: ${await world.edit(random)}`)
      await world.jump(random.chance(0.04) ? `${random.between(2, 14)} hours` : '1 hour')
      add(struck, 'clock: next hour')
    } catch {
      // Postgres is being restarted; this connection was cut off as well.
    }
    jumpedAtMs = performance.now()
  }
}

async function sleepUnless(isOver: () => boolean, ms: number): Promise<boolean> {
  const untilMs = performance.now() + ms
  while (!isOver() && performance.now() < untilMs) await sleep(Math.min(ms, LOOK_EVERY_MS))
  return isOver()
}

/** Whose work returns 0 struck nobody. */
type DatabaseTrouble = readonly [
  name: string,
  work: (disturbance: Disturbance, random: Random) => Promise<unknown>,
]

const DATABASE_TROUBLES: readonly DatabaseTrouble[] = [
  ['cut: everybody', ({ world }, random) => cut(world, random.next())],
  ['cut: Postgres restarted', ({ postgres }) => postgres.restart('fast')],
  ['cut: Postgres crashed and started again', ({ postgres }) => postgres.restart('immediate')],
  ['cut: postmaster killed (-9) and started again', ({ postgres }) => postgres.kill()],
  ['cut: everybody, and no connection left for a while', ({ world }) => occupyConnections(world, 1_500)],
  [
    'database: serialization failures, deadlocks, timeouts',
    ({ world }) => failStatements(world, 0.05, 2_000),
  ],
  ['database: serialization failures, deadlocks, timeouts', ({ world }) => failStatements(world, 0.3, 500)],
]

async function troubleDatabase(disturbance: Disturbance, random: Random): Promise<void> {
  while (!(await sleepUnless(disturbance.isOver, random.between(5_000, 15_000)))) {
    const [name, work] = random.pick(DATABASE_TROUBLES)
    // The connection of the harness may be cut off as well.
    const times = await work(disturbance, random).catch(() => 0)
    if (times !== 0) add(disturbance.struck, name)
  }
}

/**
 * Answers that are not true, or not whole, in each of their kinds. `--untrue` has them beside all else, where
 * a fifth of the results is enough: a task has six answers.
 */
const UNTRUE: SandboxFaults = {
  ...{ otherAnswer: 0.04, otherField: 0.06, otherFailure: 0.03, shortList: 0.04, brokenList: 0.05 },
  ...{ wrongId: 0.03, shortRows: 0.2, otherQuery: 0.2, wrongPostId: 0.1, turnedIds: 0.3, strayWebhook: 0.4 },
}

/**
 * Each spell takes some seconds, as seconds are minutes here. A rate is a share of the calls, or of the
 * tasks; few are posted in one spell.
 */
const SPELLS: readonly SandboxFaults[] = [
  {},
  { http500: 1 },
  { reset: { rate: 0.1, when: 'before' } },
  { reset: { rate: 0.1, when: 'after' }, lost: 0.05 },
  { halfBody: 0.1, notJson: 0.05 },
  { slow: { rate: 0.05, ms: 2_700 } },
  { rateLimit: 0.1 },
  { paymentRequired: 0.05, insufficientFunds: 0.1 },
  { tasksNull: 0.1, internalCode: 0.1 },
  { duplicateRow: 0.5, wrongId: 0.1 },
  UNTRUE,
  { webhookUnsent: 0.7, webhookTwice: 0.5 },
  { webhookLost: 0.2, webhookTwice: 1, storeError: 0.3 },
  { storeError: 0.3, clockJump: { rate: 0.05, ms: 500, times: 4 } },
]

/** The faults that a run had never struck. */
export function listSpared(blows: Blows): string[] {
  const kinds = new Set(SPELLS.flatMap((spell) => Object.keys(spell)))
  return [...kinds].filter((kind) => !blows.has(`service: ${kind}`))
}

/** Each spell has its turn before any comes again. */
async function troubleService(disturbance: Disturbance, random: Random): Promise<void> {
  const { sandbox, struck, isOver, isUntrue } = disturbance
  const change = async (faults: SandboxFaults) => {
    for (const [kind, times] of Object.entries(await sandbox.setFaults(faults))) {
      add(struck, `service: ${kind}`, times)
    }
  }
  for (let left: SandboxFaults[] = []; ; ) {
    if (left.length === 0) left = [...SPELLS]
    const spell = random.pick(left)
    left.splice(left.indexOf(spell), 1)
    await change({ ...(isUntrue && UNTRUE), ...spell })
    if (await sleepUnless(isOver, spell.http500 === 1 ? 3_000 : random.between(1_500, 5_000))) break
  }
  await change({})
}
