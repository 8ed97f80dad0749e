/** How people and their tools spell what a file of watches says: one table for each. */
import type { Store } from '../service/functions.ts'

const words = (text: string): readonly string[] => text.split(/\s+/)

/** What a column is called elsewhere, by what it is here; written as `nameOf` has it. */
export const HEADERS: Readonly<Record<string, readonly string[]>> = {
  keyword: words(`keywords term terms search_term search_terms search_keyword keyphrase key_phrase
    phrase query search_query suchbegriff suchbegriffe suchwort schlüsselwort schlagwort mot_clé
    mots_clés palabra_clave palabras_clave palavra_chave parola_chiave trefwoord zoekwoord sökord
    słowo_kluczowe anahtar_kelime ключевое_слово キーワード 关键词 關鍵字
    키워드`),
  project: words(`projekt projet proyecto progetto projeto プロジェクト`),
  store: words(`app_store platform plattform plateforme plataforma piattaforma device os ストア
    プラットフォーム`),
  country: words(`countries storefront market country_code store_country region location land länder
    markt pays país pais paese kraj ülke страна 国 国家 국가`),
  language_code: words(`language lang sprache langue idioma lingua taal język dil язык 言語
    语言 언어`),
  app_id: words(`app appid apple_id app_store_id adam_id track_id trackid itunes_id bundle bundle_id
    package package_name app_url store_url url アプリid`),
  label: words(`app_name name app_title title アプリ名`),
  volume: words(`search_volume popularity search_popularity suchvolumen beliebtheit volumen popularité
    popularidad`),
  weight: words(`importance gewicht gewichtung poids peso`),
  tags: words(`tag labels group groups category_tags schlagworte gruppe étiquettes etiquetas タグ`),
  role: words(`rolle rôle rol`),
  note: words(`notes comment comments notiz notizen kommentar remarque nota メモ`),
  enabled: words(`active aktiv actif activo`),
  every: words(`interval frequency intervall`),
  priority: words(`priorität priorité prioridad`),
  depth: words(`tiefe`),
  day: words(`date datum fecha data tag_der_messung 日付 日期 날짜`),
  rank: words(`current_rank position ranking rang platz posición posizione 順位 排名 순위`),
}

/** Written as `keyOf` has them. An iPad has ranks of its own, so it is none of them. */
const STORES: Readonly<Record<Store, readonly string[]>> = {
  ios_store: words(`ios iosstore iosappstore appstore appleappstore apple applestore itunes itunesstore
    iphone アップル`),
  android_store: words(`android androidstore googleplay googleplaystore playstore google play gp
    androidphone`),
}

/** What spreadsheets of many countries write for true and false, and people for yes and no. */
const TRUTHS: Readonly<Record<'true' | 'false', readonly string[]>> = {
  true: words(`true t yes y 1 on x ✓ ✔ ja j wahr oui o vrai sí si s sì verdadero vero sim
    verdadeiro waar tak prawda sant sand tosi evet doğru да истина はい 是 예`),
  false: words(`false f no n 0 off ✗ nein falsch non faux falso não nao nee onwaar nie fałsz nej
    falskt falsk ei epätosi hayır yanlış нет ложь いいえ 否 아니요`),
}

/** In these names of places and languages are known, beside each one's own. */
export const NAMES_IN = ['en', 'de', 'fr', 'es', 'it', 'pt', 'nl', 'pl', 'ru', 'ja', 'zh', 'zh-Hant', 'ko']

/** `Search Term` and `search-term` are search_term. */
export function nameOf(header: string): string {
  return header
    .normalize('NFC')
    .trim()
    .toLowerCase()
    .replace(/[\s_-]+/g, '_')
}

/** A spelling without what people write or leave out at will: `Google Play™` is googleplay. */
export function keyOf(text: string): string {
  return text
    .replace(/[™®]/g, '')
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[\s._-]+/g, '')
}

/** What is meant by each spelling of a table. */
export const meantBy = <Meant extends string>(
  table: Readonly<Record<Meant, readonly string[]>>,
  write = keyOf,
): ReadonlyMap<string, Meant> =>
  new Map(
    (Object.entries(table) as [Meant, readonly string[]][]).flatMap(([meant, all]) =>
      [meant, ...all].map((each) => [write(each), meant] as const),
    ),
  )

const STORE_OF = meantBy(STORES)
const TRUTH_OF = meantBy(TRUTHS)

export function storeOf(text: string): Store | null {
  return STORE_OF.get(keyOf(text)) ?? null
}

export function truthOf(text: string): boolean | null {
  const found = TRUTH_OF.get(keyOf(text))
  return found === undefined ? null : found === 'true'
}

/** Addresses of an app's page, and `id1480…`. */
const APP_FORMS: readonly (readonly [form: RegExp, store: Store])[] = [
  [/^(?:https?:\/\/)?(?:apps|itunes)\.apple\.com\/\S*?\bid(\d{3,19})\b/i, 'ios_store'],
  [/^id ?(\d{3,19})$/i, 'ios_store'],
  [/^(?:https?:\/\/)?play\.google\.com\/store\/apps\/details\?(?:\S*&)?id=([\w.]+)/i, 'android_store'],
  [/^market:\/\/details\?(?:\S*&)?id=([\w.]+)/i, 'android_store'],
  [/^([1-9]\d{2,18})$/, 'ios_store'],
  [/^([A-Za-z]\w*(?:\.\w+)+)$/, 'android_store'],
]

/** The id of an app, and the store that its form is of; null where it has none of the forms. */
export function appOf(text: string): { readonly appId: string; readonly store: Store } | null {
  for (const [form, store] of APP_FORMS) {
    const appId = form.exec(text.trim())?.[1]
    if (appId !== undefined) return { appId, store }
  }
  return null
}

/** `brand; core`, `brand|core`, and as `storerank sql --csv` prints them: `["brand","core"]`. */
export function splitList(cell: string): string[] {
  if (cell.startsWith('[')) {
    try {
      const parsed: unknown = JSON.parse(cell)
      if (Array.isArray(parsed)) return parsed.map(String)
    } catch {
      // A text that begins with a bracket.
    }
  }
  const parts = cell.split(/[;|,、，；]/).map((part) => part.trim())
  return [...new Set(parts.filter((part) => part !== ''))]
}

/**
 * `5,0` and `1.204,5` as 5.0 and 1204.5; null where it is no number, or may be two: `1,204` where a part of
 * one may follow.
 */
export function numberOf(text: string, isWhole: boolean): string | null {
  const plain = text.trim().replace(/[\u00a0\u202f' ]/g, '')
  const isGrouped = /^[+-]?\d{1,3}(?:(?:,\d{3})+|(?:\.\d{3})+)$/.test(plain)
  if (isGrouped && (isWhole || /\D.*\D/.test(plain.slice(1)))) return plain.replace(/[.,]/g, '')
  if (/^[+-]?\d+(\.\d+)?$/.test(plain)) return plain
  if (isGrouped) return null
  if (/^[+-]?(\d+|\d{1,3}(\.\d{3})+),\d+$/.test(plain)) return plain.replaceAll('.', '').replace(',', '.')
  return /^[+-]?\d{1,3}(,\d{3})+\.\d+$/.test(plain) ? plain.replaceAll(',', '') : null
}

const DAY_FORMS = [
  /^(?<year>\d{4})[-/.](?<month>\d{1,2})[-/.](?<day>\d{1,2})(?:[T ].*)?$/,
  /^(?<day>\d{1,2})\.(?<month>\d{1,2})\.(?<year>\d{4})$/,
  /^(?<year>\d{4})年(?<month>\d{1,2})月(?<day>\d{1,2})日$/,
]

/** `1.3.2026` and `2026/03/01` as 2026-03-01; null of `3/1/2026`, which is two days, and where it is none. */
export function dayOf(text: string): string | null {
  for (const form of DAY_FORMS) {
    const { year, month = '', day = '' } = form.exec(text.trim())?.groups ?? {}
    if (year === undefined) continue
    const written = `${year}-${month.padStart(2, '0')}-${day.padStart(2, '0')}`
    const instant = new Date(`${written}T00:00:00Z`)
    // 30 February would be taken for 2 March.
    return Number.isNaN(instant.getTime()) || !instant.toISOString().startsWith(written) ? null : written
  }
  return null
}

/** `#1` as 1; null where it is none. */
export function rankOf(text: string): number | null {
  const digits = /^#?(\d{1,4})(?:[.,]0+)?$/.exec(text.trim())?.[1]
  return digits === undefined || Number(digits) === 0 ? null : Number(digits)
}

/** What a spreadsheet takes for the begin of a formula, or skips before one; the wide signs in East Asia. */
const BEGINNING = '[=+\\-@＝＋－＠\\t\\r\\n]'
const FORMULA = new RegExp(`^'*${BEGINNING}`)
const DEFUSED = new RegExp(`^'+${BEGINNING}`)

/** What a spreadsheet would take for a formula, or for one so escaped, gets an apostrophe before it. */
export function escapeFormula(text: string): string {
  return FORMULA.test(text) ? `'${text}` : text
}

/** The text that `escapeFormula` was given. */
export function unescapeFormula(cell: string): string {
  return DEFUSED.test(cell) ? cell.slice(1) : cell
}
