/**
 * The guards of the product, each with the rewrites that take it out, and the times with which that shows
 * soon. How that shows is in `scenarios.ts`.
 */
import type { Timings } from '../../src/timings.ts'
import { type Rewrite, STANDARD } from './rewrite.ts'

export interface Guard {
  readonly rewrites: readonly Rewrite[]
  /** What the scenario changes beside, with the guard and without it. */
  readonly setting?: readonly Rewrite[]
  readonly timings?: Partial<Timings>
  /** What stands behind the guard in the database and would hide that it is gone. */
  readonly sql?: string
}

const replace = (file: string, find: string | RegExp, by = ''): Rewrite => ({ file, find, replace: by })

/** A runner that is frozen in one thing is in the middle of nothing else. */
const ONE_AT_ONCE: Partial<Timings> = { postsAtOnce: 1, fetchJobsAtOnce: 1 }

/** Long enough between reading and reserving that two of them meet; harmless behind the lock. */
const SLOW_CLAIM = replace(
  'post/claim.ts',
  'await dropTasksOverBudget(tx, post, budget)',
  '{\nawait dropTasksOverBudget(tx, post, budget)\nawait new Promise((resolve) => setTimeout(resolve, ' +
    '1000))\n}',
)

export type GuardName =
  | 'outbox'
  | 'send-deadline'
  | 'quiet-time'
  | 'fence'
  | 'call-window'
  | 'budget-lock'
  | 'collect-once'

export const GUARDS: Readonly<Record<GuardName, Guard>> = {
  outbox: {
    timings: ONE_AT_ONCE,
    rewrites: [
      replace('post/claim.ts', "and state = 'ready' for update", 'for update'),
      replace('ledger/claim-post.ts', /k\.state = 'planned'/g, 'true'),
    ],
  },
  'send-deadline': {
    timings: ONE_AT_ONCE,
    rewrites: [
      replace('service/transport.ts', /beginWithinMs: [^\n]+\n/),
      replace('service/transport.ts', /return lateMs > 0 [^\n]+/, 'return null'),
    ],
  },
  'quiet-time': {
    rewrites: [
      replace(
        'ledger/release.ts',
        /and state = 'unknown' and scanned_at < [\s\S]*?quietMs \/ 1000}\)/,
        "and state = 'unknown'",
      ),
    ],
  },
  fence: {
    timings: ONE_AT_ONCE,
    rewrites: [
      replace('post/settle.ts', /and token = \$\{claim\.token\} /),
      replace('ledger/release.ts', /and token = \$\{token\} /),
    ],
  },
  'call-window': {
    rewrites: [
      replace('db/call-window.ts', 'validMs})`', "validMs}, '0 seconds')`"),
      replace('post/claim.ts', /await readCallWait\([^)]+\)/, '0'),
    ],
  },
  'budget-lock': {
    rewrites: [
      replace('ledger/lock.ts', 'await tx`select from ledger for update`', 'await tx`select 1`'),
      // It writes the same row, and would lock it as well.
      replace('ledger/lock.ts', /fold_spend\([^)]+\)/, '1'),
    ],
    timings: ONE_AT_ONCE,
    setting: [SLOW_CLAIM],
  },
  'collect-once': {
    rewrites: [
      replace(
        'ledger/collect.ts',
        "(select service_id from result) and k.state = 'posted'",
        '(select service_id from result)',
      ),
      replace(
        'ledger/collect.ts',
        'where back_micros > 0\n      on conflict do nothing',
        'where back_micros > 0',
      ),
    ],
    sql: 'alter table charge drop constraint charge_service_id_kind_project_id_pk',
    // Below the heartbeat: a batch that was handed out again is stored while its first holder still has its
    // job.
    timings: { ...ONE_AT_ONCE, leaseMs: 2_000 },
  },
}

/**
 * Everything that is rewritten in a runner of a scenario (null: the random one), with its guard or without.
 */
export function rewritesOf(scenario: GuardName | null, isGuarded: boolean): readonly Rewrite[] {
  if (scenario === null) return STANDARD
  const { rewrites, setting = [] } = GUARDS[scenario]
  return [...STANDARD, ...setting, ...(isGuarded ? [] : rewrites)]
}
