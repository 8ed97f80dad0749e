import assert from 'node:assert/strict'
import { test } from 'node:test'

import { findRule, hasForm, type ServiceFunction, type Store } from '../../src/service/functions.ts'

const functions: ServiceFunction[] = ['app_searches', 'app_info', 'app_list', 'app_reviews']

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
