/**
 * What the harness changes in the text of the product while Node loads it: fail points, and guards taken out.
 * The product knows nothing of it. A rewrite that no longer fits its source is an error, never a silence.
 */

import { readFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'

/** `file` is below src/; the first match of `find` is replaced, every match of a global expression. */
export interface Rewrite {
  readonly file: string
  readonly find: string | RegExp
  readonly replace: string
}

/** @throws Error naming the file and the text when a rewrite of this file does not fit */
export function rewriteSource(file: string, source: string, rewrites: readonly Rewrite[]): string {
  return rewrites
    .filter((rewrite) => rewrite.file === file)
    .reduce((text, { find, replace }) => {
      const rewritten = text.replace(find, () => replace)
      if (rewritten === text) throw new Error(`The harness no longer fits src/${file}: ${find} is not in it.`)
      return rewritten
    }, source)
}

/**
 * Tries all rewrites on the sources as they are.
 * @throws Error as `rewriteSource` does, and where what comes out is no TypeScript
 */
export function checkRewrites(rewrites: readonly Rewrite[]): void {
  for (const file of new Set(rewrites.map((rewrite) => rewrite.file))) {
    const source = readFileSync(new URL(`../../src/${file}`, import.meta.url), 'utf8')
    const rewritten = rewriteSource(file, source, rewrites)
    try {
      stripTypeScriptTypes(rewritten)
    } catch (cause) {
      throw new Error(`The harness no longer fits src/${file}: what it makes of it is no TypeScript.`, {
        cause,
      })
    }
  }
}

/** What makes the rewrite of a fail point of that name. */
type Strike = (point: string) => Rewrite

const before =
  (file: string, find: string, detail = 'null'): Strike =>
  (point) => ({ file, find, replace: `globalThis.crashPoint('${point}', ${detail})\n${find}` })

const after =
  (file: string, find: string): Strike =>
  (point) => ({ file, find, replace: `${find}\nglobalThis.crashPoint('${point}', null)\n` })

const named = (strikes: Readonly<Record<string, Strike>>): Readonly<Record<string, Rewrite>> =>
  Object.fromEntries(Object.entries(strikes).map(([point, strike]) => [point, strike(point)]))

/**
 * The body of a POST of tasks leaves in two halves, with a fail point before, between and after. The second
 * half is looked at like the whole: a body that leaves in one piece is never finished by a process that has
 * slept.
 */
const BODY: Rewrite = {
  file: 'service/exchange.ts',
  find: 'yield this.#body\n',
  replace: `if (!this.#request.path.endsWith('/task_post')) { yield this.#body; return }
    const half = this.#body.byteLength >> 1
    globalThis.crashPoint('before the first byte', null)
    yield this.#body.subarray(0, half)
    globalThis.crashPoint('in the middle of the body', null)
    if (this.#request.refuseToBegin() !== null)
      throw new Error('its time to be sent passed in the middle of the body')
    yield this.#body.subarray(half)
    globalThis.crashPoint('after the body', null)
`,
}

/**
 * In a transaction: its session ends there, while the callback waits for something else than the database.
 */
const within =
  (file: string, find: string): Strike =>
  (point) => ({ file, find, replace: `await globalThis.crashGap('${point}', tx)\n${find}` })

/** Between two statements of one transaction. */
export const GAPS = named({
  'between two statements of a plan': within('plan/plan.ts', 'await noteCuts(tx)'),
  'between two statements of a claim': within('post/claim.ts', 'const claimed = await startSending('),
  'between two statements of settling': within(
    'post/settle.ts',
    'await settleKnownPosts(tx, [claim.postId])',
  ),
  'between two statements of adopting': within('ledger/adopt.ts', 'const rows = await tx<Evidence[]>`'),
  'between two statements of storing': within('history/store.ts', 'await finish?.(tx)'),
})

/** In the order of the data's way. Each lies between two things that must not come apart. */
export const FAIL_POINTS: Readonly<Record<string, Rewrite>> = {
  ...named({
    'plan before its commit': before('plan/plan.ts', 'return { ...totals, posts: postIds.length, last }'),
    'between two pieces of a plan': after('plan/plan.ts', 'plan.plannedMicros = summary.plannedMicros'),
    'opening slots before its commit': before('plan/due.ts', 'return upTo'),
    'closing slots before its commit': before('history/close-slots.ts', 'return row'),
    'between two pieces of closing': before('history/close-slots.ts', 'total.missed += missed'),
    'claim before its commit': before('post/claim.ts', "return { kind: 'claimed', post: {"),
    'between claim and send': before(
      'post/work-post.ts',
      'const outcome = await sendPost(deps, claim.post)',
      'claim.post.postId',
    ),
    'before the first byte': () => BODY,
    'in the middle of the body': () => BODY,
    'after the body': () => BODY,
    'between answer and settling': before('post/work-post.ts', 'await endCall(deps.db, post.callId'),
    'inside settling': after('post/settle.ts', 'await adoptOrphans(tx, created, overdueAfterMs, null)'),
    'settling before its commit': before('post/settle.ts', 'return { created: created.length,'),
    'after settling': before('post/work-post.ts', 'if (settled.unknown > 0) log.warn('),
    'between scan and adoption': before('post/reconcile.ts', 'const evidence = await adoptOrphans(tx, found'),
    'release before its commit': before(
      'post/reconcile.ts',
      'return { ...evidence, released, ...(await readUnknownPosts',
    ),
    'between ready list and its jobs': (point) => ({
      file: 'collect/enqueue-results.ts',
      find: /await enqueue\(tx, items\)/g,
      replace: `globalThis.crashPoint('${point}', null)\nawait enqueue(tx, items)`,
    }),
    'between fetching and storing': before(
      'queue/runner.ts',
      'const stored = await retryWhileDatabaseIsDown(',
    ),
    'between delivery and storing': before(
      'collect/webhooks.ts',
      'if (fetched.length > 0) await deps.store(fetched, batchId)',
    ),
    'between storing and the answer to a delivery': before(
      'collect/webhooks.ts',
      'return readings.map((reading) => reading.verdict)',
    ),
    'between dictionary and captures': after(
      'history/store.ts',
      'const ids = await deps.dictionary.resolveAppIds(batch.map(appsOf))',
    ),
    'between captures and the end of their job': before('history/store.ts', 'await finish?.(tx)'),
    'storing before its commit': after('history/store.ts', 'await finish?.(tx)'),
  }),
  ...GAPS,
}

/**
 * Every rewrite of a runner with all its guards. A rewrite that serves several fail points is applied once.
 */
export const STANDARD: readonly Rewrite[] = [...new Set(Object.values(FAIL_POINTS))]
