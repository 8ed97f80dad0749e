/** The guards of the product, each with the rewrites that take it out. How that shows is in `scenarios.ts`. */
import { type Rewrite, STANDARD } from './rewrite.ts'

export interface Guard {
  readonly rewrites: readonly Rewrite[]
  /** What the scenario changes beside, with the guard and without it. */
  readonly setting?: readonly Rewrite[]
  /** What stands behind the guard in the database and would hide that it is gone. */
  readonly sql?: string
}

const replace = (file: string, find: string | RegExp, by = ''): Rewrite => ({ file, find, replace: by })

/** A runner that is frozen in one thing is in the middle of nothing else. */
const ONE_AT_ONCE: readonly Rewrite[] = [
  replace('queue/runner.ts', /const POSTS_AT_ONCE = [^\n]+/, 'const POSTS_AT_ONCE = 1'),
  replace('queue/runner.ts', /const FETCH_JOBS_AT_ONCE = [^\n]+/, 'const FETCH_JOBS_AT_ONCE = 1'),
]

/** Below the heartbeat: a batch that was handed out again is stored while its first holder still has its job. */
const HANDED_OUT_SHORTLY = replace(
  'collect/hand-out.ts',
  /const HANDED_OUT_MS = [^\n]+/,
  'const HANDED_OUT_MS = 2_000',
)

/** Long enough between reading and reserving that two of them meet; harmless behind the lock. */
const SLOW_CLAIM = replace(
  'post/claim.ts',
  'await cutOverBudget(tx, postId, options.budget)',
  'await cutOverBudget(tx, postId, options.budget)\nawait new Promise((resolve) => setTimeout(resolve, 1000))',
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
    setting: ONE_AT_ONCE,
    rewrites: [
      replace('post/claim.ts', "and state = 'ready' for update", 'for update'),
      replace('post/claim.ts', /k\.state = 'planned'/g, 'true'),
    ],
  },
  'send-deadline': {
    setting: ONE_AT_ONCE,
    rewrites: [
      replace('service/transport.ts', /beginWithinMs: [^\n]+\n/),
      replace('service/transport.ts', /return lateMs > 0 [^\n]+/, 'return null'),
    ],
  },
  'quiet-time': {
    rewrites: [
      replace(
        'post/reconcile.ts',
        /and state = 'unknown' and scanned_at < [\s\S]*?quietMs \/ 1000}\)/,
        "and state = 'unknown'",
      ),
    ],
  },
  fence: {
    setting: ONE_AT_ONCE,
    rewrites: [replace('post/settle.ts', /and token = \$\{(claim\.)?token\} /g)],
  },
  'call-window': {
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source.
    rewrites: [replace('db/call-window.ts', '${CALL_TIMEOUT_MS})', "${CALL_TIMEOUT_MS}, '0 seconds')")],
  },
  'budget-lock': {
    rewrites: [
      replace('plan/budget.ts', /await tx`select pg_advisory_xact_lock[^`]+`/, 'await tx`select 1`'),
    ],
    setting: [SLOW_CLAIM],
  },
  'collect-once': {
    rewrites: [
      replace(
        'history/captures.ts',
        "(select service_id from result) and k.state in ('planned', 'posting', 'posted')",
        '(select service_id from result)',
      ),
      replace(
        'history/captures.ts',
        'where back_micros > 0\n      on conflict do nothing',
        'where back_micros > 0',
      ),
    ],
    sql: 'drop index charge_fact_once',
    setting: [...ONE_AT_ONCE, HANDED_OUT_SHORTLY],
  },
}

/** Everything that is rewritten in a runner of a scenario (null: the random one), with its guard or without. */
export function rewritesOf(scenario: GuardName | null, isGuarded: boolean): readonly Rewrite[] {
  if (scenario === null) return STANDARD
  const { rewrites, setting = [] } = GUARDS[scenario]
  return [...STANDARD, ...setting, ...(isGuarded ? [] : rewrites)]
}
