import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Places } from '../../src/watch/places.ts'
import { appOf, numberOf, splitList, storeOf, truthOf } from '../../src/watch/spellings.ts'

const country = (store: string, code: string, name: string, iso: string) => ({ store, code, name, iso })
const language = (store: string) => (code: string) => ({ store, code, name: '' })
const places = new Places({
  countries: [
    country('ios_store', '2840', 'United States', 'US'),
    country('ios_store', '2792', 'Turkey', 'TR'),
    country('ios_store', '2344', 'Hong Kong', 'HK'),
  ],
  languages: [
    ...['en', 'de', 'pt', 'zh', 'ja'].map(language('ios_store')),
    ...['en', 'pt', 'pt-BR', 'zh-CN', 'zh-TW'].map(language('android_store')),
  ],
  aliases: [{ iso: 'US', name: 'USA' }],
  byCode: [{ project: 'old', store: 'ios_store', code: '2840' }],
})

describe('spellings', () => {
  test('of stores', () => {
    for (const [text, store] of [
      ['iOS', 'ios_store'],
      ['App Store', 'ios_store'],
      ['iphone', 'ios_store'],
      ['android', 'android_store'],
      ['Google Play™', 'android_store'],
      ['google_play', 'android_store'],
      // It has ranks of its own.
      ['ipad', null],
      ['shop', null],
    ] as const)
      assert.equal(storeOf(text), store, text)
  })

  test('of apps', () => {
    for (const [text, appId] of [
      ['https://apps.apple.com/us/app/ashlune/id1480010017?mt=8', '1480010017'],
      ['id1480010017', '1480010017'],
      ['https://play.google.com/store/apps/details?hl=en&id=com.ashlune.yoga', 'com.ashlune.yoga'],
      ['com.ashlune.yoga', 'com.ashlune.yoga'],
      ['Ashlune', null],
      ['12', null],
    ] as const)
      assert.equal(appOf(text)?.appId ?? null, appId, text)
  })

  test('of truth', () => {
    for (const text of ['yes', 'ja', 'WAHR', 'VRAI', '1', 'x', 'はい'])
      assert.equal(truthOf(text), true, text)
    for (const text of ['no', 'Nein', 'FALSCH', 'FAUX', '0', 'いいえ'])
      assert.equal(truthOf(text), false, text)
    assert.equal(truthOf('perhaps'), null)
  })

  test('of numbers', () => {
    for (const [text, whole, part] of [
      ['5', '5', '5'],
      ['5,0', '5.0', '5.0'],
      ['1.204,5', '1204.5', '1204.5'],
      ['1,204.5', '1204.5', '1204.5'],
      ['1,204', '1204', null],
      ['1 204 000', '1204000', '1204000'],
      ['1,204,000', '1204000', '1204000'],
      ['many', null, null],
    ] as const)
      assert.deepEqual([numberOf(text, true), numberOf(text, false)], [whole, part], text)
  })

  test('of lists', () => {
    for (const text of ['a, b c', 'a;b c', 'a | b c |', '["a","b c"]', 'a, b c, a'])
      assert.deepEqual(splitList(text), ['a', 'b c'], text)
  })

  test('of countries', () => {
    for (const [text, iso] of [
      ['us', 'US'],
      ['USA', 'US'],
      ['UK', 'GB'],
      ['GB', 'GB'],
      ['Germany', 'DE'],
      ['Deutschland', 'DE'],
      ['Vereinigte Staaten', 'US'],
      ['日本', 'JP'],
      ['Turkey', 'TR'],
      ['Türkiye', 'TR'],
      ['ZZ', null],
      ['London', null],
    ] as const)
      assert.equal(places.isoOf(text), iso, text)
    assert.deepEqual(places.placeOf('new', 'ios_store', 'TR'), ['location_name', 'Turkey'])
    assert.deepEqual(places.placeOf('new', 'ios_store', 'HK'), ['location_name', 'Hong Kong'])
    assert.deepEqual(places.placeOf('new', 'ios_store', 'US'), ['location_name', 'United States'])
    assert.deepEqual(places.placeOf('old', 'ios_store', 'US'), ['location_code', '2840'])
    assert.deepEqual(places.placeOf('new', 'android_store', 'DE'), ['location_name', 'Germany'])
    assert.equal(places.placeOf('new', 'android_store', 'London,England,United Kingdom'), null)
  })

  test('of languages, where it is one thing', () => {
    for (const [store, text, code] of [
      ['ios_store', 'EN', 'en'],
      ['ios_store', 'de-DE', 'de'],
      ['ios_store', 'German', 'de'],
      ['ios_store', 'Deutsch', 'de'],
      ['ios_store', 'pt-BR', 'pt'],
      ['ios_store', 'zh-Hant', 'zh'],
      ['android_store', 'pt_br', 'pt-BR'],
      ['android_store', 'zh-Hant', 'zh-TW'],
      // It may be two.
      ['android_store', 'zh', 'zh-CN'],
      ['android_store', 'pt-PT', null],
      ['ios_store', 'nonsense!', null],
      // Before the list is loaded.
      ['none', 'de-DE', 'de'],
      ['none', 'en-GB', 'en-GB'],
      ['none', 'zh-TW', 'zh-TW'],
    ] as const)
      assert.equal(places.languageOf(store, text), code, `${store} ${text}`)
    assert.equal(places.languageIn('ios_store', 'JP'), 'ja')
    assert.equal(places.languageIn('android_store', 'TW'), 'zh-TW')
    assert.equal(places.languageIn('ios_store', 'FR'), null)
  })
})
