/** The languages that the stores of the service answer in. */

import type { Deviations } from './deviations.ts'
import type { Store } from './offers.ts'

/** A language record as the languages list gives it (spec: Reference records). */
export type Language = { language_name: string; language_code: string }

const NAMES = `
af Afrikaans, am Amharic, ar Arabic, az Azerbaijani, bg Bulgarian, bn Bengali, bs Bosnian, ca Catalan,
cs Czech, da Danish, de German, el Greek, en English, es Spanish, et Estonian, fa Persian, fi Finnish,
fr French, gu Gujarati, he Hebrew, hi Hindi, hr Croatian, hu Hungarian, hy Armenian, id Indonesian,
is Icelandic, it Italian, ja Japanese, ka Georgian, kk Kazakh, km Khmer, kn Kannada, ko Korean, lo Lao,
lt Lithuanian, lv Latvian, mk Macedonian, ml Malayalam, mn Mongolian, mr Marathi, ms Malay, my Burmese,
ne Nepali, nl Dutch, no Norwegian, pa Punjabi, pl Polish, pt Portuguese, ro Romanian, ru Russian,
si Sinhala, sk Slovak, sl Slovenian, sq Albanian, sr Serbian, sv Swedish, sw Swahili, ta Tamil,
te Telugu, th Thai, tl Tagalog, tr Turkish, uk Ukrainian, ur Urdu, uz Uzbek, vi Vietnamese, zh Chinese,
zu Zulu`

const readNames = (names: string): readonly Language[] =>
  names.split(',').map((entry) => {
    const [language_code = '', ...words] = entry.trim().split(' ')
    return { language_name: words.join(' '), language_code }
  })

const SPECIFIED = readNames(NAMES)

/** As it is sold, the android_store tells some languages apart by region. */
const REGIONAL = readNames(`
zh-CN Chinese (Simplified), zh-TW Chinese (Traditional), es-419 Spanish (Latin America),
pt-BR Portuguese (Brazil), fr-CA French (Canada)`)
const SOLD_ANDROID = [...SPECIFIED.filter(({ language_code }) => language_code !== 'zh'), ...REGIONAL]

/** The languages list of a store. */
export const listLanguages = (store: Store, deviations: Deviations): readonly Language[] =>
  store === 'android_store' && deviations.has('languages') ? SOLD_ANDROID : SPECIFIED
