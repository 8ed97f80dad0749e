/** Answers that are not true: what one of them may say of itself, and how a list of it may be broken. */

import { isRecord, type TaskAnswer } from './envelope.ts'

/** Names of each store that its fields begin with. */
const TWINS = [
  ['ios_store', 'android_store'],
  ['apple', 'google'],
  ['app_store', 'google_play'],
] as const

const ofOtherStore = (said: unknown): string => {
  const pairs = TWINS.flatMap(([one, other]) => [[one, other] as const, [other, one] as const])
  const [own = '', twin = ''] = pairs.find(([name]) => String(said).startsWith(name)) ?? []
  return String(said).replace(own, twin)
}
const addLetter = (said: unknown) => `${said}x`
const addOne = (said: unknown) => Number(said) + 1

type Part = 'data' | 'result'
/** Of a field, what was not asked for. */
const UNTRUTHS: readonly (readonly [Part, field: string, other: (said: unknown) => unknown])[] = [
  ['data', 'tag', () => 'of another program'],
  ['data', 'keyword', addLetter],
  ['data', 'app_id', addLetter],
  ['data', 'location_code', addOne],
  ['data', 'language_code', addLetter],
  ['data', 'se', ofOtherStore],
  ['data', 'function', (said) => (said === 'app_info' ? 'app_reviews' : 'app_info')],
  ['result', 'se_domain', (said) => `${/^play/.test(String(said)) ? 'apps.apple' : 'play.google'}.com`],
  ['result', 'keyword', addLetter],
  ['result', 'app_id', addLetter],
  ['result', 'location_code', addOne],
  ['result', 'language_code', addLetter],
  ['result', 'datetime', () => '2001-01-01 00:00:00 +00:00'],
]

/** The answer, with another one of its fields, its path, or a second result untrue at each turn. */
export const sayOther = (answer: TaskAnswer, turn: number): TaskAnswer => {
  const result = isRecord(answer.result?.[0]) ? answer.result[0] : {}
  const parts: Readonly<Record<Part, Record<string, unknown>>> = { data: answer.data ?? {}, result }
  const own = UNTRUTHS.filter(([part, field]) => Object.hasOwn(parts[part], field))
  const at = turn % (own.length + 2)
  const untruth = own[at]
  if (at === own.length) return { ...answer, result: [result, result] }
  if (untruth === undefined) {
    const path = ['v3', 'app_data', 'ios_store', 'app_list', 'task_get', 'advanced', answer.id]
    return { ...answer, path: answer.data.function === 'app_list' ? path.with(3, 'app_info') : path }
  }
  const [part, field, other] = untruth
  const bent = { ...parts[part], [field]: other(parts[part][field]) }
  return part === 'data' ? { ...answer, data: bent } : { ...answer, result: [bent] }
}

type Item = Readonly<Record<string, unknown>>

const isOrganic = ({ type }: Item): boolean => String(type).endsWith('_organic')

/** Whether a list has what can be broken. */
export const canBreak = (items: readonly Item[]): boolean => items.filter(isOrganic).length > 1

/**
 * A list, in turn without the app of its first rank, with an app of the other store, with a rank far beyond
 * the depth, and with more than it counts; otherwise it counts what it has.
 */
export const breakList = <R extends { items: readonly Item[] }>(result: R, turn: number): R => {
  const { items } = result
  const first = items.findIndex(isOrganic)
  const last = items.findLastIndex(isOrganic)
  const of = (list: readonly Item[]): R => ({ ...result, items: list, items_count: list.length })
  if (turn % 4 === 3) return { ...result, items_count: 1 }
  if (turn % 4 === 0) return of(items.toSpliced(first, 1))
  const item = items[last] ?? {}
  if (turn % 4 === 1) return of(items.with(last, { ...item, type: ofOtherStore(item.type) }))
  return of([...items, { ...item, app_id: `${item.app_id}1`, rank_group: 2000, rank_absolute: 2001 }])
}
