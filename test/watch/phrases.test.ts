import assert from 'node:assert/strict'
import { test } from 'node:test'
import { listPhrases } from '../../src/watch/discover.ts'

for (const [language, text, phrases] of [
  ['en', 'Velton: Morning Yoga 2026', ['velton', 'morning', 'morning yoga', 'yoga']],
  ['en', 'Learn C++ for Kids', ['learn', 'learn c++', 'c++', 'c++ for kids', 'kids']],
  ['en', 'Abs & the Core', ['abs', 'core']],
  ['en', '30 Day Yoga 2', ['30 day', '30 day yoga', 'day', 'day yoga', 'yoga']],
  ['de', 'Yoga Plus by Sablewave', ['yoga', 'sablewave']],
  ['de', 'Yoga für den Rücken', ['yoga', 'rücken']],
  ['ja', 'ヨガスタジオの無料アプリ', ['ヨガ', 'ヨガスタジオ', 'スタジオ']],
  ['zh-CN', '瑜伽音乐', ['瑜伽', '瑜伽音乐', '音乐']],
  ['th', 'โยคะและสมาธิ', ['โยคะ', 'โยคะและสมาธิ', 'สมาธิ']],
] as const) {
  test(`phrases of ${text} (${language}) neither begin nor end with a stop word`, () => {
    assert.deepEqual(listPhrases(text, language).sort(), [...phrases].sort())
  })
}
