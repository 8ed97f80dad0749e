/**
 * Bodies of searches as a service may spoil them: one value anywhere is replaced, dropped, repeated or moved.
 */
import { createRandom } from '../support/random.ts'

/** SPOILT_BODIES=1000000 takes some minutes. */
export const SPOILT_BODIES = Number(process.env.SPOILT_BODIES || 6_000)
if (!(SPOILT_BODIES >= 1_000)) throw new Error('SPOILT_BODIES must be a number of at least 1000.')

const ODD: readonly unknown[] = [
  ...[null, true, false, 0, -0, -1, 1, 2, 3, 1.5, 32_767, 32_768, 1e20, 1e-7, 1001, [], {}, [[]], [1]],
  ...['', ' ', 'a\0b', '\ud800', 'x'.repeat(600), { type: 'x' }, '2026-11-21 12:00:00 +00:00'],
  ...'1 01 1.0 2 x com.example.app 1001 1002 2026-11-21 ios_store_search_organic'.split(' '),
  ...'android_store_search_organic ios_store_search_paid _organic 9999-01-01T00:00:00'.split(' '),
]

/** A search of some apps, as the contract has it. */
export function makeSearch(apps: number, store: 'ios_store' | 'android_store' = 'ios_store'): unknown {
  return {
    type: 'organic',
    keyword: 'yoga',
    check_url: 'https://store.example.com/search?q=yoga',
    datetime: '2026-11-21 12:00:00 +00:00',
    se_results_count: 240,
    items_count: apps,
    items: Array.from({ length: apps }, (_, place) => ({
      type: `${store}_search_organic`,
      rank_group: place + 1,
      rank_absolute: place + 1,
      position: 'left',
      app_id: store === 'ios_store' ? `${1001 + place}` : `com.example.app${place}`,
      title: `App ${place} – “\u{1f680}”`,
      url: `https://store.example.com/${place}`,
      icon: `https://store.example.com/${place}.png`,
      reviews_count: 12,
      rating: { rating_type: 'Max5', value: 4.5, votes_count: 12, rating_max: 5 },
      is_free: true,
      price: null,
    })),
  }
}

/**
 * The same body, spoilt in some places.
 * @param random gives whole numbers from 0 to below its argument
 */
export function spoil(body: unknown, random: (below: number) => number): unknown {
  const copy = structuredClone(body)
  const changes = 1 + random(3)
  for (let change = 0; change < changes; change += 1) spoilOnce(copy, random)
  return copy
}

function spoilOnce(body: unknown, random: (below: number) => number): void {
  let holder = body as Record<string, unknown>
  for (;;) {
    const keys = Object.keys(holder)
    const key = keys[random(keys.length)]
    if (key === undefined) return
    const value = holder[key]
    const goesDeeper = typeof value === 'object' && value !== null && random(8) > 0
    if (goesDeeper) {
      holder = value as Record<string, unknown>
      continue
    }
    const other = keys[random(keys.length)] ?? key
    switch (random(5)) {
      case 0:
        delete holder[key]
        return
      case 1:
        holder[key] = structuredClone(holder[other])
        return
      case 2:
        ;[holder[key], holder[other]] = [holder[other], value]
        return
      default:
        holder[key] = structuredClone(ODD[random(ODD.length)])
        return
    }
  }
}

/** Whole numbers from 0 to below an argument, the same ones for the same seed. */
export function seeded(seed: number): (below: number) => number {
  const { between } = createRandom(seed)
  return (below) => between(0, below - 1)
}
