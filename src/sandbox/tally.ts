/**
 * Adds up amounts by name within the current period (a minute or a day, UTC); earlier periods are forgotten.
 */
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
    this.#turn(timeMs)
    this.#amounts.set(name, (this.#amounts.get(name) ?? 0) + amount)
  }

  /** The amount under one name in the period of `nowMs`. */
  amount(name: string, nowMs: number): number {
    this.#turn(nowMs)
    return this.#amounts.get(name) ?? 0
  }

  /** The sum of all names in the period of `nowMs`. */
  total(nowMs: number): number {
    this.#turn(nowMs)
    return [...this.#amounts.values()].reduce((sum, amount) => sum + amount, 0)
  }

  #turn(nowMs: number): void {
    const period = Math.floor(nowMs / this.#periodMs)
    if (period === this.#period) return
    this.#period = period
    this.#amounts = new Map()
  }
}
