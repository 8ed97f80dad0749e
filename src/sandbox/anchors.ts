/**
 * The flagship apps: invented, but the same in every sandbox, whatever its seed. They hold a place in every
 * ranking for their words, so that an example watchlist can name them and find them ranked.
 */

import { tokenize } from './keyword.ts'
import type { Store } from './offers.ts'
import { readTable } from './words.ts'

export type Anchor = {
  ids: Record<Store, string>
  title: string
  developer: string
  /** A head word of the topic that it belongs to (see words.ts). */
  topic: string
  priceUsd: number
  /** A search with one of these words ranks the app, */
  words: readonly string[]
  /** no better than on the first of these organic ranks, and no worse than on the second. */
  band: readonly [best: number, worst: number]
}

/** Every flagship app, in both stores. */
export const ANCHORS: readonly Anchor[] = readTable(`
1480010017 com.ashlune.yoga | Ashlune: Yoga for Everyone | Ashlune Works | yoga | 0 | 1 12 |
  yoga stretch asana pilates ヨガ 🧘
1480010025 com.stilmora.meditation | Stilmora – Meditation & Calm | Stilmora Studio | meditation | 0 |
  1 12 | meditation meditate mindfulness calm breathing anxiety naive 瞑想
1480010033 com.brindlefit.workout | Brindlefit: Home Workout | Brindlefit Inc. | fitness | 0 | 1 12 |
  workout fitness gym exercise hiit abs
1480010041 com.slowbarrow.fitnessdiary | Slowbarrow Fitness Diary | Slowbarrow Software | fitness | 0 |
  62 94 | yoga fitness workout gym exercise meditation running
1480010058 com.numberwren.math | Numberwren: Maths for Children | Numberwren Learning | math | 0 | 1 12 |
  math mathe mathematics arithmetic multiplication addition 算数
1480010066 com.penlarch.budget | Penlarch Budget Planner | Penlarch Ltd | budget | 0 | 1 12 |
  budget budgeting expense spending money 家計簿
1480010074 com.luminkite.photoeditor | Luminkite Photo Editor | Luminkite Digital | photo | 0 | 1 12 |
  photo foto collage filter selfie 写真 📷
1480010082 com.kotobrook.japanese | Kotobrook: Learn Japanese | Kotobrook GmbH | japanese | 0 | 1 12 |
  japanese language 日本語 kanji hiragana vocabulary
1480010090 com.tessarook.puzzle | Tessarook – Puzzle Game | Tessarook Games | puzzle | 0 | 1 12 |
  puzzle jigsaw logic brain block free パズル 🧩
1480010108 com.semicolonwharf.cpp | Semicolon Wharf: Learn C++ | Semicolon Wharf Labs | coding | 4.99 |
  1 12 | c++ coding programming compiler python`).map(
  ([ids = '', title = '', developer = '', topic = '', priceUsd, band = '', words = '']) => {
    const [ios_store = '', android_store = ''] = ids.split(' ')
    const [best = 0, worst = 0] = band.split(' ').map(Number)
    return {
      ids: { ios_store, android_store },
      title,
      developer,
      topic,
      priceUsd: Number(priceUsd),
      words: tokenize(words),
      band: [best, worst],
    }
  },
)
