/** The languages that both stores of the service answer in. */

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

/** The languages list, the same for both stores. */
export const LANGUAGES: readonly Language[] = NAMES.split(',').map((entry) => {
  const [language_code = '', language_name = ''] = entry.trim().split(' ')
  return { language_name, language_code }
})

/** Finds a language by its code (ISO 639-1). */
export const findLanguageByCode = (code: string): Language | undefined =>
  LANGUAGES.find((language) => language.language_code === code)

/** Finds a language by its full English name. */
export const findLanguageByName = (name: string): Language | undefined =>
  LANGUAGES.find((language) => language.language_name === name)
