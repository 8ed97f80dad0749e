/**
 * What was done to the runners, the servers and the data, by kind and place, such as `kill: inside settling`.
 */
export type Blows = Map<string, number>

export function add(blows: Blows, name: string, times = 1): void {
  blows.set(name, (blows.get(name) ?? 0) + times)
}

/** Kills, SIGTERMs, freezes, cuts and crashes; not the clock, people, or an answer that went wrong. */
const ANY = /^(kill|SIGTERM|freeze|cut)/

export function countBlows(blows: Blows, kind = ANY): number {
  return [...blows].reduce((total, [name, times]) => (kind.test(name) ? total + times : total), 0)
}
