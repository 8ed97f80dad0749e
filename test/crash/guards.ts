/**
 * The guards of the product, each with the rewrites that take it out and the scenario in which that must show within a
 * minute. The same scenario with the guard in place must be clean.
 */
import { FAIL_POINTS, type Rewrite, STANDARD } from './rewrite.ts'
import { POST_TROUBLES, type Trouble } from './wire.ts'

export interface Scenario {
  readonly points: readonly string[]
  /** One is drawn for each fail point. */
  readonly actions: readonly ('kill' | 'freeze' | 'cut')[]
  /** How long a frozen runner sleeps, one of them; `until reclaimed`: until another one has taken over what it held. */
  readonly freezeMs: readonly (readonly [number, number])[] | 'until reclaimed'
  readonly troubleShare: number
  readonly postTroubles: readonly Trouble[]
  readonly slowMs?: readonly [number, number]
  /** Troubles begin when the first frozen runner wakes. */
  readonly troubleFromWaking?: true
  /** How long the longest task takes at the sandbox. */
  readonly readyMs?: number
  /** Only the first runner is struck, and it does nothing but posting. */
  readonly victim?: true
  /** Everything is watched deeper than the store goes, so that every result brings a refund. */
  readonly deep?: true
  /** Kills, cuts, restarts at random instants as well. */
  readonly random: boolean
  readonly callsPerMinute?: number
  /** Instead of hourly slots: two days' plans meet on one day's budget. */
  readonly budgetRace?: true
}

export interface Guard {
  readonly rewrites: readonly Rewrite[]
  /** What the scenario changes beside, with the guard and without it. */
  readonly setting?: readonly Rewrite[]
  /** What stands behind the guard in the database and would hide that it is gone. */
  readonly sql?: string
  readonly scenario: Scenario
}

export const STANDARD_SCENARIO: Scenario = {
  points: Object.keys(FAIL_POINTS),
  actions: ['kill', 'kill', 'kill', 'kill', 'freeze', 'cut'],
  // Beyond the time of an answer, of the quiet time, of the heartbeat.
  freezeMs: [
    [2_700, 4_000],
    [2_700, 4_000],
    [2_700, 4_000],
    [6_500, 8_000],
    [11_500, 13_000],
  ],
  troubleShare: 0.1,
  postTroubles: POST_TROUBLES,
  random: true,
}

const QUIET: Scenario = {
  points: [],
  actions: ['kill'],
  freezeMs: [[3_000, 4_000]],
  troubleShare: 0,
  postTroubles: POST_TROUBLES,
  random: false,
}

const remove = (file: string, find: string | RegExp, replace = ''): Rewrite => ({ file, find, replace })

/** Long enough between reading and reserving that two of them meet; harmless behind the lock. */
const SLOW_CLAIM = remove(
  'post/claim.ts',
  'await cutOverBudget(tx, postId, options.budget)',
  'await cutOverBudget(tx, postId, options.budget)\nawait new Promise((resolve) => setTimeout(resolve, 1000))',
)

/** A runner that is frozen in one thing is in the middle of nothing else. */
const ONE_AT_ONCE: readonly Rewrite[] = [
  remove('queue/runner.ts', /const POSTS_AT_ONCE = [^\n]+/, 'const POSTS_AT_ONCE = 1'),
  remove('queue/runner.ts', /const FETCH_JOBS_AT_ONCE = [^\n]+/, 'const FETCH_JOBS_AT_ONCE = 1'),
]

/** Frozen between claim and send until another one is sending what it held. */
const FROZEN_HOLDER: Scenario = {
  ...QUIET,
  points: ['between claim and send'],
  actions: ['freeze'],
  freezeMs: 'until reclaimed',
  victim: true,
}

export type GuardName =
  | 'send-deadline'
  | 'quiet-time'
  | 'fence'
  | 'call-window'
  | 'budget-lock'
  | 'collect-once'
  | 'claim-state'

export const GUARDS: Readonly<Record<GuardName, Guard>> = {
  'send-deadline': {
    rewrites: [
      remove('service/transport.ts', /beginWithinMs: [^\n]+\n/),
      remove('service/transport.ts', /return lateMs > 0 [^\n]+/, 'return null'),
    ],
    setting: ONE_AT_ONCE,
    scenario: FROZEN_HOLDER,
  },
  'quiet-time': {
    rewrites: [
      remove(
        'post/reconcile.ts',
        /and state = 'unknown' and scanned_at < [\s\S]*?quietMs \/ 1000}\)/,
        "and state = 'unknown'",
      ),
    ],
    scenario: { ...QUIET, troubleShare: 0.4, postTroubles: ['late delivery'] },
  },
  fence: {
    rewrites: [remove('post/settle.ts', /and token = \$\{(claim\.)?token\} /g)],
    setting: ONE_AT_ONCE,
    // The second holder's answer comes after its time, so that nothing but its claim says that it has sent.
    scenario: {
      ...FROZEN_HOLDER,
      troubleFromWaking: true,
      troubleShare: 1,
      postTroubles: ['slow answer'],
      slowMs: [2_100, 2_600],
      readyMs: 10_000,
    },
  },
  'call-window': {
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source.
    rewrites: [remove('db/call-window.ts', '${CALL_TIMEOUT_MS})', "${CALL_TIMEOUT_MS}, '0 seconds')")],
    scenario: { ...QUIET, callsPerMinute: 150 },
  },
  'budget-lock': {
    rewrites: [remove('plan/budget.ts', /await tx`select pg_advisory_xact_lock[^`]+`/, 'await tx`select 1`')],
    setting: [SLOW_CLAIM],
    scenario: { ...QUIET, budgetRace: true },
  },
  'collect-once': {
    rewrites: [
      remove(
        'history/captures.ts',
        "(select service_id from result) and k.state in ('planned', 'posting', 'posted')",
        '(select service_id from result)',
      ),
      remove(
        'history/captures.ts',
        'where back_micros > 0\n      on conflict do nothing',
        'where back_micros > 0',
      ),
    ],
    sql: 'drop index charge_fact_once',
    setting: ONE_AT_ONCE,
    // Longer than a task is handed out for, shorter than the heartbeat: both batches end their jobs.
    scenario: {
      ...QUIET,
      points: ['between fetching and storing'],
      actions: ['freeze'],
      freezeMs: [[7_500, 9_000]],
      victim: true,
      deep: true,
    },
  },
  'claim-state': {
    rewrites: [
      remove('post/claim.ts', "and state = 'ready' for update", 'for update'),
      remove('post/claim.ts', /k\.state = 'planned'/g, 'true'),
    ],
    scenario: { ...QUIET, points: ['after the body', 'between answer and settling'], actions: ['kill'] },
  },
}

/** Everything that is rewritten in a runner of a scenario (null: the standard one), with its guard or without. */
export function rewritesOf(scenario: GuardName | null, isGuarded: boolean): readonly Rewrite[] {
  if (scenario === null) return STANDARD
  const { rewrites, setting = [] } = GUARDS[scenario]
  return [...STANDARD, ...setting, ...(isGuarded ? [] : rewrites)]
}
