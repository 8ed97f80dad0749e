/** The parts of a report that can be left out, on the page, the terminal and in digests alike. */

export const SECTIONS = [
  'summary',
  'movers',
  'trends',
  'keywords',
  'rivals',
  'holders',
  'changes',
  'ratings',
  'gaps',
  'money',
] as const
export type SectionName = (typeof SECTIONS)[number]

export type Shown = ReadonlySet<SectionName>
export const ALL: Shown = new Set(SECTIONS)

/** What is asked for, all unless something is, less what is to be left out. */
export function chooseSections(
  wanted: readonly SectionName[] = SECTIONS,
  without: readonly string[] = [],
): Shown {
  return new Set(wanted.filter((name) => !without.includes(name)))
}
