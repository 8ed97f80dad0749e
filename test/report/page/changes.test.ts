/**
 * Changes of the pages of apps: a row a release, what weighs most first, and the words that came and went.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { renderPage } from '../../../src/report/page/page.ts'
import type { ListingChange } from '../../../src/report/read-store.ts'
import { createReport } from '../../support/report.ts'

type Change = readonly [field: string, before: string | null, after: string | null]

const LONG = 'A calm place for yoga, breathing and sleep. '.repeat(12)

/** The rows of the table as a person reads them: what came is in +…+, what went in −…−. */
async function showRows(changes: readonly ListingChange[]): Promise<string[]> {
  const report = { ...(await createReport({ seed: 7, keywords: 20, days: 10 })), changes: [...changes] }
  const section = /<section id="changes"[\s\S]*?<\/section>/.exec(renderPage(report))?.[0] ?? ''
  const body = section.slice(section.lastIndexOf('<tbody>'))
  return [...body.matchAll(/<tr>([\s\S]*?)<\/tr>/g)].map(([, row = '']) =>
    row
      .replace(/<\/?ins>/g, '+')
      .replace(/<\/?del>/g, '−')
      .replace(/<dt>/g, ' | ')
      .replace(/<\/dt>/g, ': ')
      .replace(/<[^>]*>/g, '')
      .replace(/\s+/g, ' ')
      .trim(),
  )
}

async function showFields(changes: readonly Change[]): Promise<string> {
  const [row = ''] = await showRows(changes.map((change) => makeChange('2026-03-04', 0, change)))
  return row.slice(row.indexOf('|') + 2)
}

function makeChange(day: string, app: number, [field, before, after]: Change): ListingChange {
  return { day, app, place: 'US', field, before, after }
}

describe('a change', () => {
  const cases: readonly (readonly [string, readonly Change[], string])[] = [
    ['words added', [['title', 'Lark: Yoga', 'Lark: Yoga for Sleep']], 'title: Lark: Yoga +for Sleep+'],
    ['Japanese words', [['title', 'ヨガと瞑想', 'ヨガと体操']], 'title: ヨガと−瞑想−+体操+'],
    ['a number', [['price', '4.99', '0']], 'price: 4.99 → 0'],
    ['something new', [['subtitle', null, 'Calm <b>']], 'subtitle: nothing → Calm &lt;b&gt;'],
    ['a list', [['languages', '["en","fr"]', '["en","ja"]']], 'languages: 2 ++ ja+ −− fr−'],
    ['pictures', [['images', '["x:1"]', '["x:2","x:1"]']], 'images: 2 ++ 1+'],
    ['an order', [['images', '["a","b"]', '["b","a"]']], 'images: 2, in another order'],
    ['a picture', [['icon', 'https://a.test/1.png', 'https://a.test/2.png']], 'icon: another one'],
    [
      'a long text',
      [['description', LONG, LONG.replace('yoga', 'pilates')]],
      'description: 1 word added, 1 word removedA calm place for −yoga−+pilates+, breathing and sleep. ' +
        'A calm place for …',
    ],
    [
      'notes of a release',
      [['update_notes', 'Old ones.', 'A quieter bell.']],
      'update notes: A quieter bell.',
    ],
  ]
  for (const [name, changes, expected] of cases) {
    test(`of ${name} shows what came and what went`, async () => {
      assert.equal(await showFields(changes), expected)
    })
  }

  test('of a text that is written anew, at the most that a store takes, is shown in time', async () => {
    const text = (word: string) => Array.from({ length: 700 }, (_, n) => `${word}${n}`).join(' ')
    const shown = await showFields([['description', text('old'), text('new')]])
    assert.match(shown, /^description: (written anew|700 words)/)
  })
})

test('what changed with a release is one row, its title before its version, latest first', async () => {
  const rows = await showRows([
    makeChange('2026-03-02', 1, ['update_notes', 'a', 'b']),
    makeChange('2026-03-04', 0, ['version', '1.0', '1.1']),
    makeChange('2026-03-04', 0, ['genres', '["a"]', '["a","b"]']),
    makeChange('2026-03-04', 0, ['updated_at', '2026-03-01', '2026-03-04']),
    makeChange('2026-03-04', 1, ['title', 'Wren', 'Wren: Maths']),
    makeChange('2026-03-04', 0, ['icon', 'a', 'b']),
    makeChange('2026-03-02', 1, ['version', '1', '2']),
  ])
  assert.deepEqual(
    rows.map((row) => [...row.matchAll(/\| ([^:]+):/g)].map(([, field]) => field)),
    [['title'], ['icon', 'genres', 'version'], ['version', 'update notes']],
  )
})

test('reviews that say the same are one, below the version that they are of', async () => {
  const report = await createReport({ seed: 7, keywords: 20, days: 10 })
  const section = /<section id="ratings"[\s\S]*?<\/section>/.exec(renderPage(report))?.[0] ?? ''
  assert.match(section, /<h4>[^<]+ 4\.2\.0\s+\(\d+\)<\/h4>/)
  assert.match(section, /12 times/)
})
