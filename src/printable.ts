/** Text as it may be shown: without secrets, and without what would steer a terminal. Loads nothing. */

/**
 * Applied to the finished line, so that they also reach nested fields, child loggers and the stacks of
 * errors. Each pattern begins at a sign that what follows it cannot hold, so that no text is read from two
 * beginnings: the time is linear.
 */
const REDACTIONS: readonly (readonly [RegExp, string])[] = [
  [/("(?:\w*password|authorization|secret)":)(?:"[^"\\]*(?:\\.[^"\\]*)*"|-?[\d.]+)/gi, '$1"[secret]"'],
  [/(:\/\/)[^\s"/?#@:]*:[^\s"/?#]*@/g, '$1[secret]@'],
  [/("(?:Basic|Bearer) )[^"\s]+(?=")/gi, '$1[secret]'],
  // A webhook's address, wherever the service repeats it.
  [/\/[\w-]{24,}(?=\?id=)/g, '/[secret]'],
  [/(\bauthorization: ?(?:Basic|Bearer) )[^"\s]+/gi, '$1[secret]'],
]

/**
 * Text from outside (titles, messages of the service) as it may be shown on a terminal: control characters
 * and with them every escape sequence become visible signs, marks that turn the direction of writing go. Line
 * breaks and tabs stay.
 */
export function toPrintable(text: string): string {
  return (
    text
      // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this is about
      .replace(/[\u0000-\u0008\u000b-\u001f]/g, (control) =>
        String.fromCodePoint(0x2400 + control.charCodeAt(0)),
      )
      .replace(/[\u007f-\u009f]/g, '\ufffd')
      .replace(/[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, '')
  )
}

/** A log line, or a sentence for a person, without the secrets that may have slipped into it. */
export function redactSecrets(line: string): string {
  return REDACTIONS.reduce((text, [pattern, replacement]) => text.replace(pattern, replacement), line)
}
