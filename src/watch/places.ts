/**
 * Countries and languages as people write them: ISO 3166-1, names in English, in the widest languages and
 * in each one's own, and what the service calls them, once its lists are loaded.
 */
import type { SqlRunner } from '../db/database.ts'
import { sql } from '../db/sql.ts'
import { keyOf, NAMES_IN } from './spellings.ts'

/** How a watch names a place. */
export type Place = readonly [column: 'location_name' | 'location_code', value: string]

type Named = 'region' | 'language'

const LETTERS = [...'abcdefghijklmnopqrstuvwxyz']
const PAIRS = LETTERS.flatMap((first) => LETTERS.map((second) => first + second))
/** Unicode names them, and no store is there. */
const NO_COUNTRY = /^(EU|EZ|UN|QO|X[AB]|ZZ)$/

const namers = new Map<string, Intl.DisplayNames>()

function nameIn(language: string, type: Named, code: string): string | null {
  const key = `${language} ${type}`
  const namer = namers.get(key) ?? new Intl.DisplayNames([language], { type, fallback: 'none' })
  namers.set(key, namer)
  return namer.of(code) ?? null
}

/** The codes by their names in `NAMES_IN` and in a language of their own. */
function codesByName(type: Named, codes: Iterable<string>, ownLanguage: (code: string) => string) {
  const found = new Map<string, string>()
  for (const code of codes) {
    for (const language of [...NAMES_IN, ownLanguage(code)]) {
      const name = keyOf(nameIn(language, type, code) ?? '')
      if (name !== '' && !found.has(name)) found.set(name, code)
    }
  }
  return found
}

/** Where most people of a country write so: `zh-Hant-TW` of TW. */
const likely = (iso: string) => new Intl.Locale(`und-${iso}`).maximize()

function localeOf(text: string): Intl.Locale | null {
  try {
    return new Intl.Locale(text.trim().replaceAll('_', '-'))
  } catch {
    return null
  }
}

const isSame = (a: Intl.Locale, b: Intl.Locale) => a.maximize().baseName === b.maximize().baseName

interface Country {
  readonly store: string
  readonly code: string
  readonly name: string
  readonly iso: string
}

interface Lists {
  readonly countries: readonly Country[]
  readonly languages: readonly { readonly store: string; readonly code: string; readonly name: string }[]
  /** Other names of countries, by the function country_names. */
  readonly aliases: readonly { readonly iso: string; readonly name: string }[]
  /** Which countries a project names by their codes alone. */
  readonly byCode: readonly { readonly project: string; readonly store: string; readonly code: string }[]
}

export class Places {
  readonly #countries = new Map<string, Country>()
  readonly #isoOfCode = new Map<string, string>()
  readonly #languages = new Map<string, string[]>()
  readonly #isoOf: Map<string, string>
  readonly #languageOf: Map<string, string>
  readonly #byCode: ReadonlySet<string>

  constructor({ countries, languages, aliases, byCode }: Lists) {
    const codes = new Set(
      PAIRS.map((pair) => localeOf(`und-${pair}`)?.region ?? '').filter(
        (code) => code !== '' && !NO_COUNTRY.test(code) && nameIn('en', 'region', code) !== null,
      ),
    )
    this.#isoOf = codesByName('region', codes, (code) => likely(code).language)
    for (const { iso, name } of aliases) this.#isoOf.set(keyOf(name), iso)
    for (const code of codes) this.#isoOf.set(keyOf(code), code)
    this.#isoOf.set('uk', 'GB')
    for (const each of countries) {
      this.#countries.set(`${each.store} ${each.iso}`, each)
      this.#isoOf.set(keyOf(each.name), each.iso)
      this.#isoOfCode.set(each.code, each.iso)
    }
    const known = PAIRS.filter((pair) => nameIn('en', 'language', pair) !== null)
    this.#languageOf = codesByName('language', known, (code) => code)
    for (const { store, code, name } of languages) {
      this.#languages.set(store, [...(this.#languages.get(store) ?? []), code])
      this.#languageOf.set(keyOf(name), code)
    }
    this.#byCode = new Set(byCode.map(({ project, store, code }) => [project, store, code].join('\n')))
  }

  /** The two letters of a country; null where it is none that is known. */
  isoOf(text: string): string | null {
    return this.#isoOf.get(keyOf(text)) ?? null
  }

  /** A country as the store has it, by its code where the project names it so; null where it is none. */
  placeOf(project: string, store: string, text: string): Place | null {
    const iso = this.isoOf(text)
    if (iso === null) return null
    const country = this.#countries.get(`${store} ${iso}`)
    if (country !== undefined && this.#byCode.has([project, store, country.code].join('\n')))
      return ['location_code', country.code]
    return ['location_name', country?.name ?? nameIn('en', 'region', iso) ?? text]
  }

  nameOf(store: string, [column, value]: Place): string {
    const iso = column === 'location_code' ? this.#isoOfCode.get(value) : undefined
    return this.#countries.get(`${store} ${iso}`)?.name ?? value
  }

  /** The country that a place is or lies in; null where that is not known. */
  isoOfPlace([column, value]: Place): string | null {
    if (column === 'location_code') return this.#isoOfCode.get(value) ?? null
    return this.isoOf(value) ?? this.isoOf(value.split(',').at(-1) ?? '')
  }

  /**
   * The code of a language in a store: `EN`, `German`, `de-DE` and `pt-BR` where it is one thing; null where
   * it is none, or may be several.
   */
  languageOf(store: string, text: string): string | null {
    const named = this.#languageOf.get(keyOf(text)) ?? text
    const meant = localeOf(named)
    if (meant === null) return null
    const listed = this.#languages.get(store)
    if (listed === undefined) return shortest(meant)
    const same = listed.find((code) => code.toLowerCase() === meant.baseName.toLowerCase())
    if (same !== undefined) return same
    const near = listed.flatMap((code) => {
      const locale = localeOf(code)
      return locale?.language === meant.language ? [{ code, locale }] : []
    })
    if (near.length === 1) return near[0]?.code ?? null
    return near.find(({ locale }) => isSame(locale, meant))?.code ?? null
  }

  /** What most people of a country write, where the store has it. */
  languageIn(store: string, iso: string): string | null {
    const { baseName, language } = likely(iso)
    return this.languageOf(store, this.#languages.has(store) || language === 'zh' ? baseName : language)
  }
}

/** `de` of de-DE. Chinese has two scripts, and `zh` alone would say neither. */
function shortest(meant: Intl.Locale): string {
  const short = meant.minimize()
  if (meant.language !== 'zh') return short.script === undefined ? short.baseName : short.language
  const { script, region = script === 'Hant' ? 'TW' : 'CN' } = meant
  return script === undefined && meant.region === undefined ? 'zh' : `zh-${region}`
}

export async function loadPlaces(db: SqlRunner): Promise<Places> {
  const countries = await db<Country[]>`
    select store, code::text, name, country_iso_code as iso from location
    where lower(type collate "C") = 'country'`
  const languages = await db<{ store: string; code: string; name: string }[]>`
    select store, code, name from language`
  const aliases = await db<{ iso: string; name: string }[]>`
    select c.code as iso, n.name from country_names() c cross join unnest(c.names) n (name)`
  const named = (table: string) => sql`
    select project, store, location_code, location_name from ${sql.identifier(table)}`
  const byCode = await db<Lists['byCode'][number][]>`
    with named as (${named('keyword_watch')} union ${named('app_watch')} union ${named('chart_watch')})
    select project, store, location_code::text as code from named where location_code is not null
    except
    select n.project, n.store, l.code::text
    from named n join location l on l.store = n.store
      and lower(l.name collate "C") = lower(n.location_name collate "C")`
  return new Places({ countries, languages, aliases, byCode })
}
