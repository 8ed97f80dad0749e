import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { decodeKeyword } from '../../src/sandbox/keyword.ts'
import { type Json, measure, openSandbox, postTasks, readMoney, USA } from './caller.ts'

/** How a client writes a keyword (spec: Task posting). */
const encode = (keyword: string) => keyword.replaceAll('%', '%25').replaceAll('+', '%2B')

describe('posting tasks', () => {
  test('every encoded keyword decodes to itself, and a lone percent sign stays', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (keyword) => {
        assert.equal(decodeKeyword(encode(keyword)), keyword)
        assert.equal(decodeKeyword(encodeURIComponent(keyword)), keyword)
      }),
    )
    assert.equal(decodeKeyword('50%'), '50%')
    assert.equal(decodeKeyword('a+b'), 'a b')
  })

  test('a keyword of spaces is refused however written, and an id of another store’s form', async (t) => {
    const caller = await openSandbox(t)
    const refusalOf = async (fields: Json, kind: { store?: string; name?: string } = {}) => {
      const [answer] = await postTasks(caller, [{ location_code: USA, ...fields }], kind)
      return `${answer.status_code} ${answer.status_message}`
    }
    assert.equal(await refusalOf({ keyword: '%20+' }), "40501 Invalid Field: 'keyword'.")
    const appId = "40501 Invalid Field: 'app_id'."
    assert.equal(await refusalOf({ app_id: 'com.ashlune.yoga' }, { name: 'app_info' }), appId)
    const android = { store: 'android_store', name: 'app_info' }
    assert.equal(await refusalOf({ app_id: '1480010017' }, android), appId)
  })

  test('every item that comes back is a result: an advertisement may begin another unit', async (t) => {
    const caller = await openSandbox(t, { readyMs: 0 })
    const keywords = Array.from({ length: 120 }, (_, index) => `yoga ${index}`)
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
