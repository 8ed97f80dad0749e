/**
 * Phrases of a text that somebody may search for: one to three words that stand beside each other, as the
 * language divides them, also where it writes no spaces (Japanese, Chinese, Thai).
 */

const LONGEST_WORDS = 3
const LONGEST_LETTERS = 60
/** What stands between two parts of a title, in NFKC. */
const PARTS = /\s+[-–—|·•&+]\s+|[:,、。.;!?()[\]【】「」"“”\n|•·/]+/u
const UNSPACED = /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}ー]+$/u

/**
 * Words by which no phrase begins or ends; of the languages in which most keywords are watched. Those of
 * English count in all of them: half of the titles of a store are English.
 */
const STOP_WORDS: Readonly<Record<string, string>> = {
  en:
    'a an and any app apps are as at be best by can do for free from get has have how in is it its ' +
    'lite more my new no not of on one or our plus pro so that the their this to top up us we what ' +
    'with you your hd',
  de:
    'ab alle als am an app auch auf aus bei bis das dein deine dem den der des die du ein eine einen ' +
    'einer es für gratis hat ihr im in ist kein keine mehr mit nach nicht oder ohne sie sind so über ' +
    'um und uns von vom was wie wir zu zum zur',
  fr:
    'à app au aux avec ce ces dans de des du elle en est et gratuit il je la le les leur mais mes mon ' +
    'ne nos notre nous ou par pas plus pour que qui sa sans ses son sur un une vos votre vous',
  es:
    'a al app como con de del el en es esta este gratis la las lo los más me mi no o para pero por ' +
    'que se sin su sus tu tus un una y ya',
  it:
    'a al alla app che con da dei del della di e gli i il in la le lo ma non o per più se su tua tuo ' +
    'un una',
  pt:
    'a ao app as com da das de do dos e em é grátis na no o os ou para por que se sem seu sua um uma ' +
    'você',
  ja: `の に は を が と で も から まで
    より な です ます する した して こと アプリ 無料 や へ`,
  zh: '的 了 和 是 在 与 为 也 都 及 你 我 们 免费',
  th: `และ ที่ ของ ใน ให้ กับ
    การ เป็น ได้ ฟรี แอป`,
}

const stops = new Map<string, ReadonlySet<string>>()
const segmenters = new Map<string, Intl.Segmenter>()

/** @param language a code such as `en` or `zh-CN`; one that is not known is divided by spaces and marks */
export function listPhrases(text: string, language: string): string[] {
  const isStop = stopWordsOf(language.split('-')[0] ?? language)
  const phrases = new Set<string>()
  for (const part of text.normalize('NFKC').toLowerCase().split(PARTS)) {
    const words = divide(part, language)
    for (const [from] of words.entries()) {
      for (let count = 1; count <= LONGEST_WORDS && from + count <= words.length; count += 1) {
        const some = words.slice(from, from + count)
        if (isPhrase(some, isStop)) phrases.add(join(some))
      }
    }
  }
  return [...phrases].filter((phrase) => [...phrase].length <= LONGEST_LETTERS)
}

/** How many words it has, as its language divides it; of what has no spaces at least two. */
export function countWords(phrase: string, language: string): number {
  return Math.max(divide(phrase, language).length, UNSPACED.test(phrase) ? 2 : 1)
}

function divide(text: string, language: string): string[] {
  const segmenter = segmenters.get(language) ?? new Intl.Segmenter(language, { granularity: 'word' })
  segmenters.set(language, segmenter)
  // Signs belong to a word that they follow: c++, c#.
  return [...segmenter.segment(text)].reduce<string[]>((words, { segment, isWordLike }) => {
    if (isWordLike) words.push(segment)
    else if (/^[+#]+$/.test(segment) && words.length > 0) words.push(`${words.pop()}${segment}`)
    return words
  }, [])
}

function isPhrase(words: readonly string[], isStop: ReadonlySet<string>): boolean {
  const [first = '', last = ''] = [words[0], words.at(-1)]
  if (isStop.has(first) || isStop.has(last)) return false
  // `30 day fitness` is searched for; a year, and the second of a series, are not.
  if (/^\d+$/.test(last) || words.some((word) => /^\d{4,}$/.test(word))) return false
  const letters = [...words.join('')].length
  return letters >= (UNSPACED.test(words.join('')) ? 2 : 3)
}

function join(words: readonly string[]): string {
  return words.reduce((text, word) =>
    UNSPACED.test(text) && UNSPACED.test(word) ? text + word : `${text} ${word}`,
  )
}

function stopWordsOf(language: string): ReadonlySet<string> {
  const known = stops.get(language) ?? new Set(`${STOP_WORDS.en} ${STOP_WORDS[language] ?? ''}`.split(/\s+/))
  stops.set(language, known)
  return known
}
