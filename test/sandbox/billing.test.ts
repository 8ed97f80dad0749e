import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type Json, measure, openSandbox, readMoney } from './caller.ts'

describe('billing', () => {
  test('every item that comes back is a result: an advertisement may begin another unit', async (t) => {
    const caller = await openSandbox(t, { readyMs: 0 })
    const keywords = Array.from({ length: 400 }, (_, index) => `yoga ${index}`)
    const unitsOf = (count: number) => Math.ceil(count / 30)
    let atEdge = 0
    let expectedUnits = 0
    for (const keyword of keywords) {
      const result = await measure(caller, { keyword, depth: 200 }, { store: 'android_store' })
      const { items, items_count: count } = result
      const organic = items.filter(({ type }: Json) => type.endsWith('_organic')).length
      assert.ok(items.length === count && count <= 200)
      if (unitsOf(organic) < unitsOf(count)) atEdge += 1
      expectedUnits += unitsOf(count)
    }
    assert.ok(atEdge > 0)
    assert.equal((await readMoney(caller)).balance, (1_000_000_000 - expectedUnits * 1200) / 1_000_000)
  })
})
