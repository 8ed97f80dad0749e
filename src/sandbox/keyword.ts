/** Reads a keyword the way the service does: decoding first, then the words that a search looks for. */

/** Decodes a posted keyword: `+` is a space, every `%##` a byte of UTF-8 (spec: Task posting). */
export const decodeKeyword = (posted: string): string =>
  posted
    .replaceAll('+', ' ')
    .replace(/(?:%[0-9a-f]{2})+/gi, (bytes) => Buffer.from(bytes.replaceAll('%', ''), 'hex').toString('utf8'))

/** One word or one emoji; `c++`, `c#` and `3+` keep their signs. */
const TOKEN = /[\p{L}\p{N}][\p{L}\p{N}\p{M}+#]*|\p{Extended_Pictographic}/gu

const IGNORED = 'a an and at by for in of on or the to with & der die das le la les un une de'.split(' ')

/** Folds a word: case, accents and the plural make no difference. Other scripts keep their marks. */
const fold = (word: string): string => {
  const latin = /^\p{Script=Latin}/u.test(word)
  const plain = latin ? word.normalize('NFD').replace(/\p{M}/gu, '') : word
  return latin && plain.length > 3 && /[^s]s$/.test(plain) ? plain.slice(0, -1) : plain
}

/** The words of a text in the form that the search index uses, each once, in order. */
export const tokenize = (text: string): string[] => {
  const words = text.normalize('NFKC').toLowerCase().match(TOKEN) ?? []
  return [...new Set(words.filter((word) => !IGNORED.includes(word)).map(fold))]
}

/** Looks typed at random: Latin letters without a vowel, or with five consonants in a row. */
export const isGibberish = (word: string): boolean =>
  /^[a-z]{4,}$/.test(word) && (!/[aeiouy]/.test(word) || /[^aeiouy]{5}/.test(word))
