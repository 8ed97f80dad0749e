/** Adds up amounts by name within the current minute or day (UTC); earlier ones are forgotten. */
export class Tally {
  readonly #periodMs: number
  #period = 0
  #amounts = new Map<string, number>()

  constructor(periodMs: number) {
    this.#periodMs = periodMs
  }

  /** Adds an amount that belongs to a moment; one of an earlier period no longer counts. */
  add(name: string, amount: number, timeMs: number): void {
    if (Math.floor(timeMs / this.#periodMs) < this.#period) return
    const sum = this.amount(name, timeMs) + amount
    this.#amounts.set(name, sum)
  }

  /** The amount under one name in the period of `nowMs`. */
  amount(name: string, nowMs: number): number {
    return this.#amountsOf(nowMs).get(name) ?? 0
  }

  /** The sum of all names in the period of `nowMs`. */
  total(nowMs: number): number {
    return this.#amountsOf(nowMs)
      .values()
      .reduce((sum, amount) => sum + amount, 0)
  }

  #amountsOf(timeMs: number): ReadonlyMap<string, number> {
    const period = Math.floor(timeMs / this.#periodMs)
    if (period !== this.#period) this.#amounts = new Map()
    this.#period = period
    return this.#amounts
  }
}
