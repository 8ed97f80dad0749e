import assert from 'node:assert/strict'
import { once } from 'node:events'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { Worker } from 'node:worker_threads'
import { openDatabase } from '../../src/db/database.ts'
import { createTestDatabase } from '../support/database.ts'

setFlagsFromString('--expose-gc')
const collectGarbage: () => void = runInNewContext('gc')

const database = await createTestDatabase()
after(() => database.drop())

async function useFirst(): Promise<WeakRef<object>> {
  const db = openDatabase(database.url)
  try {
    const [row] = await db.sql`select ${['a', 'b']}::text[] as texts, ${[1, 2]}::int[] as numbers`
    assert.deepEqual({ ...row }, { texts: ['a', 'b'], numbers: [1, 2] })
    return new WeakRef(db.sql)
  } finally {
    await db.close()
  }
}

test(
  'the first database of a process is let go when it is closed, and the next one knows arrays without ' +
    'asking',
  async () => {
    const first = await useFirst()
    const next = openDatabase(database.url, { name: 'next' })
    const [row] = await next.sql<{ texts: string[]; sessions: number }[]>`
    select array['c'] as texts, (select count(*)::int from pg_stat_activity
      where datname = current_database()) as sessions`
    assert.deepEqual({ ...row }, { texts: ['c'], sessions: 1 })
    for (let turn = 0; turn < 20 && first.deref() !== undefined; turn += 1) {
      await new Promise(setImmediate)
      collectGarbage()
    }
    assert.equal(first.deref(), undefined)
    await next.close()
  },
)

// A thread knows nothing of what this process has asked before.
test('a session of its own, before anything else is asked, leaves the next database knowing arrays', async () => {
  const thread = new Worker(join(import.meta.dirname, 'session-first.ts'), { workerData: database.url })
  const [answer] = await once(thread, 'message')
  assert.deepEqual(answer, { texts: ['a', 'b'] })
})
