/** What an import has come to: counts, refusals, and what is odd about what came in. */
import type { FileRow, RefusedRow } from './fit-rows.ts'
import type { Watch } from './kinds.ts'
import { OddKeywords } from './odd-keywords.ts'

export interface WatchCost {
  readonly dayMicros: number
  readonly monthMicros: number
}

export interface Import {
  /** The tables that the files are for. */
  readonly tables: readonly Watch['table'][]
  readonly added: number
  readonly changed: number
  readonly unchanged: number
  /** Rows of a history that say that the app was not found: nothing is kept of them. */
  readonly unranked: number
  /**
   * What was disabled by `replace`; null where nothing was to be, or could not, because rows were refused.
   */
  readonly disabled: number | null
  /** Only the first ones, in the order of the files, at most MOST_REFUSALS of them. */
  readonly refused: readonly RefusedRow[]
  readonly refusedCount: number
  /** The projects of the rows. */
  readonly projects: readonly string[]
  readonly isStopped: boolean
  /** What `readCost` read; null without, and where the whole is not one transaction. */
  readonly cost: { readonly before: WatchCost; readonly after: WatchCost } | null
  /** Named again by a file with `replace`, without a word on whether they are enabled; they are now. */
  readonly enabled: number
  /** Of these projects, in the tables that the files are for; 0 with `replace`. */
  readonly stillDisabled: number
  /** Sentences on keywords that a person hardly means as they stand. */
  readonly odd: readonly string[]
  /** What keeps watches of these projects from being measured. */
  readonly problems: readonly ImportProblem[]
}

export interface ImportProblem {
  readonly problem: string
  readonly message: string
  readonly watches: number
}

/** Different ones; the view has them all. */
export const PROBLEMS_SHOWN = 10
/** More are counted and not kept. */
const MOST_REFUSALS = 1_000

/** What has happened so far. */
export class Tally {
  readonly tables = new Set<Watch['table']>()
  /** Those of them that have rows of their own: an app may be mentioned beside a keyword alone. */
  readonly listed = new Set<Watch['table']>()
  readonly projects = new Set<string>()
  /** With `replace`, the ids of what the files name, by table. */
  readonly named = new Map<Watch['table'], number[]>()
  /** Those of them whose rows do not say whether they are enabled. */
  readonly unsaid = new Map<Watch['table'], number[]>()
  readonly oddKeywords = new OddKeywords()
  readonly #replaced: string | undefined
  readonly #refused: RefusedRow[] = []
  readonly #twins: ImportProblem[] = []
  /** Rows of the files so far. */
  read = 0
  added = 0
  changed = 0
  unchanged = 0
  refusedCount = 0
  /** Rows of a history that say that the app was not found. */
  unranked = 0
  disabled: number | null = null
  enabled = 0
  stillDisabled = 0
  isStopped = false

  constructor(replaced: string | undefined) {
    this.#replaced = replaced
  }

  /** Rows that are dealt with. */
  get rows(): number {
    return this.added + this.changed + this.unchanged + this.refusedCount + this.unranked
  }

  /** Whether the ids of what is stored are asked for. */
  get isReplacing(): boolean {
    return this.#replaced !== undefined
  }

  /** Whether it is a row to store. */
  take(row: FileRow | RefusedRow): row is FileRow {
    this.read += 1
    if ('reason' in row) {
      this.refuse(row)
      return false
    }
    this.projects.add(row.cells.get('project') ?? '')
    if (row.isMentioned !== true) this.listed.add(row.watch.table)
    if (row.watch.table === 'keyword_watch') this.oddKeywords.add(row.cells.get('keyword') ?? '')
    return true
  }

  refuse(row: RefusedRow): void {
    this.refusedCount += 1
    if (this.#refused.length < MOST_REFUSALS) this.#refused.push(row)
  }

  /** @param read at most so many of the rows that were written last, while there is room for them */
  async tellTwins(read: (most: number) => Promise<readonly ImportProblem[]>): Promise<void> {
    const most = PROBLEMS_SHOWN - this.#twins.length
    if (most > 0) this.#twins.push(...(await read(most)))
  }

  name(rows: readonly FileRow[], ids: readonly number[]): void {
    const [first] = rows
    if (first === undefined || ids.length === 0) return
    const { table } = first.watch
    for (const kept of first.cells.has('enabled') ? [this.named] : [this.named, this.unsaid]) {
      const known = kept.get(table) ?? []
      kept.set(table, known)
      for (const id of ids) known.push(id)
    }
  }

  result(cost: Import['cost'], problems: readonly ImportProblem[]): Import {
    const { tables, added, changed, unchanged, disabled, refusedCount, projects, isStopped } = this
    const { enabled, stillDisabled, unranked } = this
    const files = [...new Set(this.#refused.map(({ file }) => file))]
    return {
      tables: [...tables],
      added,
      changed,
      unchanged,
      unranked,
      disabled,
      enabled,
      stillDisabled,
      odd: this.oddKeywords.describe(),
      refusedCount,
      isStopped,
      cost,
      problems: [...problems, ...this.#twins].slice(0, PROBLEMS_SHOWN),
      projects: [...projects],
      refused: this.#refused.toSorted(
        ({ file: a, line }, { file: b, line: other }) => files.indexOf(a) - files.indexOf(b) || line - other,
      ),
    }
  }
}
