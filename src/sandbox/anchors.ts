/**
 * The flagship apps: invented, but the same in every sandbox, whatever its seed. They hold a place in every
 * ranking for their words, so that an example watchlist can name them and find them ranked.
 */

import type { Store } from './offers.ts'

export type Anchor = {
  ids: Record<Store, string>
  title: string
  developer: string
  /** A head word of the topic that it belongs to (see words.ts). */
  topic: string
  priceUsd: number
  /** A search with one of these words, written as a token, ranks the app. */
  words: readonly string[]
  /** The best and the worst organic rank that it takes there. */
  band: readonly [best: number, worst: number]
}

const FRONT = [1, 12] as const
const DEEP = [62, 94] as const

const anchor = (
  [iosId, androidId]: readonly [string, string],
  [title, developer]: readonly [string, string],
  topic: string,
  words: string,
  band: readonly [number, number] = FRONT,
  priceUsd = 0,
): Anchor => ({
  ids: { ios_store: iosId, android_store: androidId },
  title,
  developer,
  topic,
  priceUsd,
  words: words.split(' '),
  band,
})

/** Every flagship app, in both stores. */
export const ANCHORS: readonly Anchor[] = [
  anchor(
    ['1480010017', 'com.ashlune.yoga'],
    ['Ashlune: Yoga for Everyone', 'Ashlune Works'],
    'yoga',
    'yoga stretch asana pilates ヨガ 🧘',
  ),
  anchor(
    ['1480010025', 'com.stilmora.meditation'],
    ['Stilmora – Meditation & Calm', 'Stilmora Studio'],
    'meditation',
    'meditation meditate mindfulness calm breathing anxiety naive 瞑想',
  ),
  anchor(
    ['1480010033', 'com.brindlefit.workout'],
    ['Brindlefit: Home Workout', 'Brindlefit Inc.'],
    'fitness',
    'workout fitness gym exercise hiit abs',
  ),
  anchor(
    ['1480010041', 'com.slowbarrow.fitnessdiary'],
    ['Slowbarrow Fitness Diary', 'Slowbarrow Software'],
    'fitness',
    'yoga fitness workout gym exercise meditation running',
    DEEP,
  ),
  anchor(
    ['1480010058', 'com.numberwren.math'],
    ['Numberwren: Maths for Children', 'Numberwren Learning'],
    'math',
    'math mathe mathematics arithmetic multiplication addition 算数',
  ),
  anchor(
    ['1480010066', 'com.penlarch.budget'],
    ['Penlarch Budget Planner', 'Penlarch Ltd'],
    'budget',
    'budget budgeting expense spending money 家計簿',
  ),
  anchor(
    ['1480010074', 'com.luminkite.photoeditor'],
    ['Luminkite Photo Editor', 'Luminkite Digital'],
    'photo',
    'photo foto collage filter selfie 写真 📷',
  ),
  anchor(
    ['1480010082', 'com.kotobrook.japanese'],
    ['Kotobrook: Learn Japanese', 'Kotobrook GmbH'],
    'japanese',
    'japanese language 日本語 kanji hiragana vocabulary',
  ),
  anchor(
    ['1480010090', 'com.tessarook.puzzle'],
    ['Tessarook – Puzzle Game', 'Tessarook Games'],
    'puzzle',
    'puzzle jigsaw logic brain block free パズル 🧩',
  ),
  anchor(
    ['1480010108', 'com.semicolonwharf.cpp'],
    ['Semicolon Wharf: Learn C++', 'Semicolon Wharf Labs'],
    'coding',
    'c++ coding programming compiler python',
    FRONT,
    4.99,
  ),
]
