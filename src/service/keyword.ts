/** Encoding of a posted keyword: the service decodes `%##` and `+`, so these two characters are encoded and no others. */

/** A keyword as a person types it → as it is posted (docs/service.md: Keyword encoding). */
export function encodeKeyword(keyword: string): string {
  return keyword.replaceAll('%', '%25').replaceAll('+', '%2B')
}

/** The reverse: a keyword as it was posted → as a person typed it. Only what `encodeKeyword` encodes is decoded. */
export function decodeKeyword(posted: string): string {
  return posted.replaceAll(/%(2B|25)/g, (_, code) => (code === '25' ? '%' : '+'))
}
