/** Deterministic noise: the same inputs give the same number for ever, on every machine. Not for secrets. */

/** Hashes a text to 32 bits (FNV-1a with a final mix). */
export const hashText = (text: string): number => {
  let hash = 0x811c9dc5
  for (let index = 0; index < text.length; index += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193)
  }
  return mix(hash, text.length)
}

/** Mixes two 32-bit numbers into one (the finaliser of MurmurHash3). */
export const mix = (left: number, right: number): number => {
  let hash = left ^ Math.imul(right, 0x9e3779b1)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}

/** Turns a 32-bit number into a fraction, 0 included and 1 not. */
export const fraction = (hash: number): number => (hash >>> 0) / 0x1_0000_0000

/** Picks one element by hash. `list` must not be empty. */
export const pick = <T>(list: readonly T[], hash: number): T => list[hash % list.length] as T

/** Remembers what a function of a text made, for the texts that it was asked for last. */
export const remember = <Value>(most: number) => {
  const kept = new Map<string, Value>()
  return (key: string, make: () => Value): Value => {
    const value = kept.get(key) ?? make()
    kept.delete(key)
    kept.set(key, value)
    if (kept.size > most) kept.delete(kept.keys().next().value ?? '')
    return value
  }
}
