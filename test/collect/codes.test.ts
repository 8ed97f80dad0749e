/** What a code at one task does to that task, whatever it would say of an account. */
import assert from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import { countStates, readMoney } from '../post/posting.ts'
import { lasting } from '../support/lasting.ts'
import { askedEnough, buy, clear, collect, collectPaused, tamper, watchKeywords } from '../support/stages.ts'
import { createWorld } from '../support/world.ts'

const world = lasting(() => createWorld({ sandbox: { callsPerMinute: 100_000 } }))
afterEach(() => clear(world))

/** The service, which answers for each task that is fetched with this code and no result. */
const answering = (t: Parameters<typeof tamper>[0], code: number, message: string) =>
  tamper(t, world, (path, body) => {
    if (!path.includes('/task_get/')) return
    Object.assign(body.tasks[0], {
      status_code: code,
      status_message: message,
      result: null,
      result_count: 0,
    })
  })

test('a failure of the store that no task stands below is not paid for again', async (t) => {
  await watchKeywords(world, ['yoga'])
  await buy(world)
  const failing = await tamper(t, world, (path, body) => {
    if (path.includes('/task_get/')) Object.assign(body, { status_code: 40103, tasks: null })
  })
  assert.equal((await collect(world, failing)).later, 1)
  assert.deepEqual(await countStates(world.db), { posted: 1 })
})

for (const code of [40105, 40199, 40205, 40299, 40506]) {
  test(`${code} at one task ends that task within the day, and blames no account`, async (t) => {
    await watchKeywords(world, ['yoga'])
    await buy(world)
    const failing = await answering(t, code, 'Something else.')
    assert.equal((await collect(world, failing)).later, 1)
    const [open] = await world.db.sql`select problem from task`
    assert.equal(open?.problem, `${code}: Something else.`)
    await askedEnough(world)
    assert.equal((await collectPaused(world, failing)).failed, 1)
    assert.deepEqual(await countStates(world.db), { failed: 1 })
    const [gap] = await world.db.sql`select reason from ranking`
    assert.equal(gap?.reason, `${code}: Something else.`)
  })
}

test('that nothing was found is a measurement, whether the code or the message alone says it', async (t) => {
  for (const [code, message] of [
    [40102, 'No Search Results.'],
    [40501, 'No Search Results.'],
  ] as const) {
    await watchKeywords(world, ['yoga'], { depth: 300 })
    await buy(world)
    assert.equal((await collect(world, await answering(t, code, message))).stored, 1)
    const [found] = await world.db.sql`select gap, results_count, app_ids from ranking`
    assert.deepEqual({ ...found }, { gap: null, results_count: 0, app_ids: [] })
    assert.deepEqual(await readMoney(world.db), { charge: 3600, refund: -2400 })
    await clear(world)
  }
})

test('a refused field is no empty result, and no words are read when tasks are posted', async (t) => {
  await watchKeywords(world, ['yoga'])
  const { client } = await tamper(t, world, (path, body) => {
    if (!path.endsWith('/task_post')) return
    Object.assign(body.tasks[0], { status_code: 40501, status_message: 'No Search Results.', cost: 0 })
  })
  await buy(world, { client })
  assert.deepEqual(await countStates(world.db), { failed: 1 })
  await clear(world)
  await watchKeywords(world, ['chess'])
  await buy(world)
  const refusing = await answering(t, 40501, "Invalid Field: 'No Search Results'.")
  assert.equal((await collect(world, refusing)).later, 1)
})
