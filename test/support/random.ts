/**
 * Choices that a seed repeats. What the processes make of them depends on the machine: a seed replays the
 * plan, not the clock.
 */
export interface Random {
  /** 0 to 1, without 1. */
  next(): number
  /** A whole number from `min` to `max`, both included. */
  between(min: number, max: number): number
  pick<T>(choices: readonly T[]): T
  chance(probability: number): boolean
  /** Independent of how often this one is asked from now on. */
  fork(): Random
}

/** Mulberry32. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const between = (min: number, max: number) => min + Math.floor(next() * (max - min + 1))
  return {
    next,
    between,
    pick: (choices) => {
      const chosen = choices[between(0, choices.length - 1)]
      if (chosen === undefined) throw new Error('There is nothing to pick from.')
      return chosen
    },
    chance: (probability) => next() < probability,
    fork: () => createRandom(between(0, 2 ** 31)),
  }
}
