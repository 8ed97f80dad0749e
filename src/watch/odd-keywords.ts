/** Keywords that a person hardly means as they stand. They are bought as they stand, so they are told of. */

interface Oddity {
  count: number
  /** The first of them, and what it may have been. */
  readonly example: string
  readonly meant: string
}

/** The letters of windows-1252 and the bytes that they are made of. */
const BYTES = new Map(
  Array.from({ length: 256 }, (_, byte) => [
    new TextDecoder('windows-1252').decode(Uint8Array.of(byte)),
    byte,
  ]),
)

/** Pure: the text whose UTF-8 was read as the encoding of Windows; null where that is not so. */
export function repairLetters(text: string): string | null {
  if (/^\p{ASCII}*$/u.test(text)) return null
  const bytes = [...text].map((letter) => BYTES.get(letter))
  if (bytes.includes(undefined)) return null
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Uint8Array.from(bytes as number[]))
  } catch {
    return null
  }
}

/** Two commas make a list of what others search for one by one. */
function splitList(keyword: string): string | null {
  const parts = keyword.split(',').map((part) => part.trim())
  return parts.length < 3 || parts.includes('') ? null : parts.map((part) => JSON.stringify(part)).join(', ')
}

export class OddKeywords {
  readonly #found = new Map<'letters' | 'list', Oddity>()

  add(keyword: string): void {
    this.#note('letters', keyword, repairLetters(keyword))
    this.#note('list', keyword, splitList(keyword))
  }

  #note(kind: 'letters' | 'list', example: string, meant: string | null): void {
    if (meant === null) return
    const found = this.#found.get(kind)
    if (found !== undefined) found.count += 1
    else this.#found.set(kind, { count: 1, example, meant })
  }

  describe(): string[] {
    return [...this.#found].map(([kind, { count, example, meant }]) => {
      const shown = JSON.stringify(example)
      const which = count === 1 ? shown : `${count} keywords, such as ${shown},`
      return kind === 'letters'
        ? `${which} may have the letters of a file that was opened in the wrong encoding: ` +
            `${JSON.stringify(meant)}.`
        : `${which} ${count === 1 ? 'is' : 'are'} searched as one: for ${meant} give each a line of its own.`
    })
  }
}
