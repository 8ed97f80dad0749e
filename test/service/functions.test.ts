import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'

import {
  billingUnits,
  findRule,
  hasForm,
  type ServiceFunction,
  type Store,
} from '../../src/service/functions.ts'

const stores: Store[] = ['ios_store', 'android_store']
const functions: ServiceFunction[] = ['app_searches', 'app_info', 'app_list', 'app_reviews']

test('a depth of 101 is billed as 200 results', () => {
  assert.equal(billingUnits('ios_store', 'app_searches', 100), 1)
  assert.equal(billingUnits('ios_store', 'app_searches', 101), 2)
  assert.equal(billingUnits('ios_store', 'app_searches', 700), 7)
  assert.equal(billingUnits('android_store', 'app_searches', 31), 2)
  assert.equal(billingUnits('android_store', 'app_list', 101), 2)
  assert.equal(billingUnits('ios_store', 'app_reviews', 51), 2)
})

test('app details are one unit, whatever the count', () => {
  fc.assert(fc.property(fc.nat(), (count) => billingUnits('ios_store', 'app_info', count) === 1))
})

test('units cover the results, at least one, and never one too many', () => {
  fc.assert(
    fc.property(fc.constantFrom(...stores), fc.nat({ max: 100_000 }), (store, count) => {
      const units = billingUnits(store, 'app_searches', count)
      const unit = findRule(store, 'app_searches')?.billingUnitResults ?? 0
      assert.ok(Number.isInteger(units) && units >= 1)
      assert.ok(units * unit >= count)
      assert.ok(units === 1 || (units - 1) * unit < count)
    }),
  )
})

test('every default depth is within its maximum and whole units', () => {
  for (const store of stores) {
    for (const fn of functions) {
      const rule = findRule(store, fn)
      if (rule === null) continue
      const { defaultDepth, maximumDepth, billingUnitResults } = rule
      if (defaultDepth === null || maximumDepth === null) {
        assert.equal(defaultDepth, maximumDepth)
        continue
      }
      assert.ok(defaultDepth <= maximumDepth)
      assert.equal(defaultDepth % billingUnitResults, 0)
    }
  }
})

test('both stores sell every function, and raw pages are of android_store alone', () => {
  assert.equal(findRule('windows_store' as never, 'app_info'), null)
  for (const fn of functions) {
    assert.equal(hasForm('ios_store', fn, 'advanced'), true)
    assert.equal(hasForm('ios_store', fn, 'html'), false)
    assert.equal(hasForm('android_store', fn, 'html'), true)
  }
})

test('charts of the ios_store and reviews of the android_store are of the service as sold', () => {
  const depths = (store: Store, fn: ServiceFunction) => {
    const rule = findRule(store, fn)
    return [rule?.defaultDepth, rule?.maximumDepth, rule?.billingUnitResults, rule?.source]
  }
  assert.deepEqual(depths('ios_store', 'app_list'), [100, 1000, 100, 'sold'])
  assert.deepEqual(depths('android_store', 'app_reviews'), [150, 100_000, 150, 'sold'])
})
