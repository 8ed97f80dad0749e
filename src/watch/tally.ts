/** What an import has come to: counts, refusals, and what is odd about what came in. */
import type { Watch } from './kinds.ts'
import type { FileRow, RefusedRow } from './understand.ts'

export type WatchCost = Readonly<Record<'dayMicros' | 'monthMicros', number>>

export type Import = ReturnType<Tally['result']>

export interface ImportProblem {
  readonly problem: string
  readonly message: string
  readonly watches: number
}

/** Different ones; the view has them all. */
export const PROBLEMS_SHOWN = 10
/** More are counted and not kept. */
const MOST_REFUSALS = 1_000

export class Tally {
  readonly tables = new Set<Watch['table']>()
  /** Those of them that have rows of their own: an app may be mentioned beside a keyword alone. */
  readonly listed = new Set<Watch['table']>()
  readonly projects = new Set<string>()
  /** With `replace`, the ids of what the files name, by table. */
  readonly named = new Map<Watch['table'], number[]>()
  /** Those of them whose rows do not say whether they are enabled. */
  readonly unsaid = new Map<Watch['table'], number[]>()
  /** Watches that another one keeps from being followed. */
  readonly twins: ImportProblem[] = []
  readonly counts = {
    added: 0,
    changed: 0,
    unchanged: 0,
    /** Rows of a history that say that the app was not found: nothing is kept of them. */
    unranked: 0,
    refusedCount: 0,
    /** By `replace`; null where nothing was to be, or could not, because rows were refused. */
    disabled: null as number | null,
    /** Named again by a file with `replace`, without a word on whether they are enabled. */
    enabled: 0,
    /** Of these projects, in the tables that the files are for; 0 with `replace`. */
    stillDisabled: 0,
  }
  isStopped = false
  readonly #refused: RefusedRow[] = []
  /** Apps beside keywords: each counts once. */
  readonly #mentioned = new Set<string>()
  readonly #odd = new Map<Oddity, { count: number; readonly example: string; readonly meant: string }>()

  /** Rows that are dealt with. */
  get rows(): number {
    const { added, changed, unchanged, unranked, refusedCount } = this.counts
    return added + changed + unchanged + unranked + refusedCount
  }

  take(row: FileRow | RefusedRow): row is FileRow {
    if ('reason' in row) {
      this.refuse(row)
      return false
    }
    const { watch, cells, isMentioned } = row
    const mentioned = isMentioned ? JSON.stringify([...cells]) : ''
    if (this.#mentioned.has(mentioned)) return false
    if (isMentioned) this.#mentioned.add(mentioned)
    this.projects.add(cells.get('project') ?? '')
    if (isMentioned !== true) this.listed.add(watch.table)
    if (watch.table === 'keyword_watch') this.#lookAt(cells.get('keyword') ?? '')
    return true
  }

  refuse(row: RefusedRow): void {
    this.counts.refusedCount += 1
    if (this.#refused.length < MOST_REFUSALS) this.#refused.push(row)
  }

  name([first]: readonly FileRow[], ids: readonly number[]): void {
    if (first === undefined) return
    const { watch, cells } = first
    for (const kept of cells.has('enabled') ? [this.named] : [this.named, this.unsaid])
      kept.set(watch.table, (kept.get(watch.table) ?? []).concat(ids))
  }

  #lookAt(example: string): void {
    for (const oddity of ODDITIES) {
      const meant = oddity.meant(example)
      if (meant === null) continue
      const found = this.#odd.get(oddity)
      if (found === undefined) this.#odd.set(oddity, { count: 1, example, meant })
      else found.count += 1
    }
  }

  /** @param cost null where it was not read, or the whole is not one transaction */
  result(cost: { readonly before: WatchCost; readonly after: WatchCost } | null, problems: ImportProblem[]) {
    const files = [...new Set(this.#refused.map(({ file }) => file))]
    return {
      ...this.counts,
      tables: [...this.tables],
      projects: [...this.projects],
      isStopped: this.isStopped,
      cost,
      /** Sentences on keywords that a person hardly means as they stand. */
      odd: [...this.#odd].map(([{ tell }, { count, example, meant }]) => {
        const shown = JSON.stringify(example)
        return tell(count === 1 ? shown : `${count} keywords, such as ${shown},`, count > 1, meant)
      }),
      /** What keeps watches of these projects from being measured. */
      problems: [...problems, ...this.twins].slice(0, PROBLEMS_SHOWN),
      refused: this.#refused.toSorted(
        (a, b) => files.indexOf(a.file) - files.indexOf(b.file) || a.line - b.line,
      ),
    }
  }
}

/** A keyword that a person hardly means as it stands. It is bought as it stands, so it is told of. */
interface Oddity {
  /** What it may have been; null where it is not odd. */
  readonly meant: (keyword: string) => string | null
  readonly tell: (which: string, areSeveral: boolean, meant: string) => string
}

const ODDITIES: readonly Oddity[] = [
  {
    meant: repairLetters,
    tell: (which, _, meant) =>
      `${which} may have the letters of a file that was opened in the wrong encoding: ` +
      `${JSON.stringify(meant)}.`,
  },
  {
    meant: (keyword) => {
      const parts = keyword.split(',').map((part) => part.trim())
      // Two commas make a list of what others search for one by one.
      return parts.length < 3 || parts.includes('')
        ? null
        : parts.map((part) => JSON.stringify(part)).join(', ')
    },
    tell: (which, areSeveral, meant) =>
      `${which} ${areSeveral ? 'are' : 'is'} searched as one: for ${meant} give each a line of its own.`,
  },
]

const BYTES = new Map(
  Array.from({ length: 256 }, (_, byte) => [
    new TextDecoder('windows-1252').decode(Uint8Array.of(byte)),
    byte,
  ]),
)

/** The text whose UTF-8 was read as the encoding of Windows; null where that is not so. */
function repairLetters(text: string): string | null {
  if (/^\p{ASCII}*$/u.test(text)) return null
  const bytes = [...text].map((letter) => BYTES.get(letter))
  if (bytes.includes(undefined)) return null
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Uint8Array.from(bytes as number[]))
  } catch {
    return null
  }
}
