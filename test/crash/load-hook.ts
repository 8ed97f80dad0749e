/**
 * Loaded with `--import` into a runner: rewrites the product on its way in, shortens its times, moves its
 * clock, and ends the process where it is told to.
 */
import { writeSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { relative } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Transaction } from '../../src/db/database.ts'
import '../support/load-faster.ts'
import '../support/moved-date.ts'
import { type GuardName, rewritesOf } from './guards.ts'
import { rewriteSource } from './rewrite.ts'

/** What the first of the fail points does that is reached, when that is for the `skip + 1`st time. */
export interface Armed {
  readonly points: readonly string[]
  readonly skip: number
  readonly action: 'kill' | 'freeze' | 'cut'
}

/**
 * What a runner writes to its fourth file descriptor at that moment; `detail` is the post, where there is
 * one, and between two statements of a transaction the server process of its session.
 */
export interface Reached {
  readonly point: string
  readonly action: Armed['action']
  readonly detail: string | null
}

const SOURCE = fileURLToPath(new URL('../../src', import.meta.url))
const REPORT_FD = 3
/** Long enough for the harness to cut the connections meanwhile. */
const CUT_PAUSE_MS = 400

const rewrites = rewritesOf(
  (process.env.CRASH_SCENARIO ?? null) as GuardName | null,
  process.env.CRASH_GUARD_OFF === undefined,
)
const rewrittenFiles = new Set(rewrites.map((rewrite) => rewrite.file))

const TIMINGS = new URL('../../src/timings.ts', import.meta.url).href
const SHORTER = new URL('timings.ts', import.meta.url).href

registerHooks({
  resolve: (specifier, context, nextResolve) => {
    const resolved = nextResolve(specifier, context)
    return resolved.url === TIMINGS && context.parentURL !== SHORTER
      ? { ...resolved, url: SHORTER }
      : resolved
  },
  load: (url, context, nextLoad) => {
    const loaded = nextLoad(url, context)
    const file = url.startsWith('file:') ? relative(SOURCE, fileURLToPath(url)) : ''
    if (!rewrittenFiles.has(file) || loaded.source == null) return loaded
    return { ...loaded, source: rewriteSource(file, loaded.source.toString(), rewrites) }
  },
})

let armed: Armed | null = null
let skip = 0
process.on('message', (message: Armed | 'disarm') => {
  armed = message === 'disarm' ? null : message
  skip = armed?.skip ?? 0
})

/** Says that an armed point is reached. Null where it is not armed. */
function reach(point: string, detail: string | null, action = armed?.action): Armed['action'] | null {
  if (armed === null || action === undefined || !armed.points.includes(point) || skip-- > 0) return null
  armed = null
  const reached: Reached = { point, action, detail }
  writeSync(REPORT_FD, `${JSON.stringify(reached)}\n`)
  return action
}

Object.assign(globalThis, {
  crashPoint: (point: string, detail: string | null) => {
    const action = reach(point, detail)
    if (action === 'kill') process.kill(process.pid, 'SIGKILL')
    else if (action === 'freeze') process.kill(process.pid, 'SIGSTOP')
    else if (action === 'cut') Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, CUT_PAUSE_MS)
  },
  /** Cut off in any case: the process goes on meanwhile, and learns of it. */
  crashGap: async (point: string, tx: Transaction) => {
    if (armed === null || !armed.points.includes(point)) return
    const [row] = await tx<{ pid: number }[]>`select pg_backend_pid() as pid`
    if (reach(point, String(row?.pid), 'cut') !== null) await sleep(CUT_PAUSE_MS)
  },
})
