/**
 * Encoding of a posted keyword: the service decodes `%##` and `+`, so these two characters are encoded and no
 * others.
 */

/** A keyword as a person types it → as it is posted (docs/service.md: Keyword encoding). */
export function encodeKeyword(keyword: string): string {
  return keyword.replaceAll('%', '%25').replaceAll('+', '%2B')
}

/**
 * The reverse: a keyword as it was posted → as a person typed it. Only what `encodeKeyword` encodes is
 * decoded.
 */
export function decodeKeyword(posted: string): string {
  return posted.replaceAll(/%(2B|25)/g, (_, code) => (code === '25' ? '%' : '+'))
}

/**
 * Pure: whether a keyword that an answer names is the one that was asked for: up to case, Unicode
 * normalisation, spaces and encoding.
 */
export function isSameKeyword(said: string, asked: string): boolean {
  if (said === asked) return true
  const wanted = fold(asked)
  return [said, decodeKeyword(said), decodeUrl(said)].some((form) => fold(form) === wanted)
}

/**
 * Upper case first: then `ß` is `SS`, and both forms of a sigma are one. A dotted capital I loses its dot,
 * as many lower it.
 */
function fold(keyword: string): string {
  const folded = keyword.normalize('NFKC').toUpperCase().toLowerCase().replaceAll('i\u0307', 'i')
  return folded.normalize('NFKC').replaceAll(/\s+/g, ' ').trim()
}

/** As a form encodes it; as it stands where it is no such text. */
function decodeUrl(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return text
  }
}
