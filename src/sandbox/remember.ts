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
