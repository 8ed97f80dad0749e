/** How a keyword travels: the service decodes `%##` and `+`, so both are protected and nothing else. */

/** A keyword as a person types it → as it is posted (docs/service.md: Keyword encoding). */
export function encodeKeyword(keyword: string): string {
  return keyword.replaceAll('%', '%25').replaceAll('+', '%2B')
}
