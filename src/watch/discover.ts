/**
 * Proposes keywords to watch, from what is bought already: the titles of what ranks on the lists of a
 * project, the pages of its apps and competitors, and the apps that these show beside them.
 */
import type { Database } from '../db/database.ts'
import type { Store } from '../service/functions.ts'
import { addKeywords, type Proposal, shortName } from './add.ts'

/** Days in which a list or a page has to be measured. */
const RECENT_DAYS = 31
const DEEPEST_RANK = 30
/** An app that stands beside a watched one, and the page of one, of what an app on the lists is worth. */
const PAGE_SHARE = 0.5
/** What so many words are worth: one word names a market, two or three what somebody wants. */
const WORTH_OF_WORDS: readonly number[] = [0, 0.04, 1, 0.9]
/** A phrase within a longer one is left out where so many of its apps have the longer one. */
const SAME_APPS = 0.8
const EXAMPLES = 3
/** Of keywords that are measured once before somebody decides to watch them. */
const TAG = 'probe'

export interface DiscoverQuery {
  readonly project: string
  /** From the texts of this app alone, and of what ranks on the keywords on which it ranks. */
  readonly app?: string
  readonly country?: string
  readonly limit: number
  /** Titles from elsewhere, such as a search in the service's listings. */
  readonly titles?: readonly string[]
}

export interface Candidate extends Omit<Proposal, 'rank' | 'slot'> {
  /** From 100, the best one of its place. */
  readonly score: number
  /** Apps of whose title or page it is a part, and some of their titles. */
  readonly apps: number
  readonly examples: readonly string[]
  /** The watched keyword whose results have it most: where it belongs. */
  readonly near: string
}

/** A text, and what a phrase in it is worth. `of` tells apps of one developer from others. */
interface Source extends Pick<Proposal, 'store' | 'location' | 'locationCode' | 'language'> {
  readonly of: string
  readonly title: string
  readonly text: string
  readonly strength: number
  readonly near: string | null
}

/** The best first, place by place; none that the project watches there. */
export async function discover(
  db: Pick<Database, 'sql'>,
  query: DiscoverQuery,
): Promise<readonly Candidate[]> {
  const sources = (await readSources(db, query)).toSorted(
    (a, b) => b.strength - a.strength || a.title.localeCompare(b.title),
  )
  const watched = new Set(
    (await readWatched(db, query.project)).map((row) => keyOf(row.store, row.locationCode, row.keyword)),
  )
  return [...Map.groupBy(sources, placeOf).values()]
    .flatMap((own) => scorePlace(own, query, watched))
    .toSorted((a, b) => b.score - a.score || a.keyword.localeCompare(b.keyword))
    .slice(0, query.limit)
}

const placeOf = ({ store, locationCode, language }: Source) => `${store} ${locationCode} ${language}`

/** As the store takes it: without regard to case and spaces. */
const keyOf = (store: string, place: number, keyword: string) =>
  `${store} ${place} ${keyword.normalize('NFKC').toLowerCase().replaceAll(' ', '')}`

async function readWatched({ sql }: Pick<Database, 'sql'>, project: string) {
  return sql<{ store: Store; locationCode: number; keyword: string }[]>`
    select store, location_code as "locationCode", keyword from project_list
    where project = ${project} and list = 'keyword' and ended_at is null`
}

/** What ranks counts by the weight of its keywords and where it stands; a page by the mean of these. */
async function readSources({ sql }: Pick<Database, 'sql'>, query: DiscoverQuery): Promise<Source[]> {
  const { project, app = null, country = null, titles = [] } = query
  return sql<Source[]>`
    with today as (
      select (storerank_now() at time zone p.timezone)::date as day from project p where p.name = ${project}
    ), ends as (
      select e.*, l.country_iso_code from today t
      cross join lateral list_ends(${project}, t.day - ${RECENT_DAYS}::integer, t.day) e
      left join location l on l.store = e.store and l.code = e.location_code
      where e.list = 'keyword' and e.language is not null and (${country}::text is null
        or lower(${country}::text) in (lower(e.location), lower(l.country_iso_code)))
        and (${app}::text is null or exists (
          select from project_apps(${project}) a where a.app_id = ${app} and a.app = any(e.last_ids)))
    ), ranked as (
      select e.store, e.location, e.location_code, e.language, n.title,
        coalesce(n.developer, n.app_id) as of, sum(w.worth) as strength,
        (array_agg(e.keyword order by w.worth desc, e.keyword))[1] as near
      from ends e
      cross join lateral unnest(e.last_ids[:(${DEEPEST_RANK}::integer)]) with ordinality h (app, rank)
      cross join lateral (select greatest(e.weight, 0.1) / h.rank as worth) w
      join app_name n on n.app = h.app
      where n.title is not null
      group by e.store, e.location, e.location_code, e.language, n.app, n.title, n.developer, n.app_id
    ), place as (
      select r.store, r.location, r.location_code, r.language, ${PAGE_SHARE} * avg(r.strength) as strength
      from ranked r group by r.store, r.location, r.location_code, r.language
    ), page as (
      select distinct on (l.target_id) l.* from app_listing l cross join today t
      where l.project = ${project} and l.day > t.day - ${RECENT_DAYS}::integer
        and l.slot > storerank_now() - make_interval(days => ${RECENT_DAYS + 2}::integer)
        and (${app}::text is null or l.app_id = ${app})
      order by l.target_id, l.slot desc
    ), texts as (
      select p.store, p.language, p.app_id, p.title, concat_ws(E'\n', p.subtitle, p.description) as text
      from page p
      union all
      select p.store, p.language, s ->> 'appId', s ->> 'title', s ->> 'title'
      from page p cross join lateral jsonb_array_elements(p.similar_apps) s
      union all
      select o.store, o.language, n.app_id, t.title, t.title
      from (select distinct store, language from place) o cross join unnest(${[...titles]}::text[]) t (title)
      left join app_name n on n.store = o.store and n.title = t.title
    )
    select r.store, r.location, r.location_code as "locationCode", r.language, r.of, r.title, r.title as text,
      r.strength, r.near
    from ranked r
    union all
    select p.store, p.location, p.location_code, p.language, coalesce(n.developer, t.app_id, t.title),
      t.title, t.text, p.strength, null
    from texts t join place p on p.store = t.store and p.language = t.language
    left join app_name n on n.store = t.store and n.app_id = t.app_id
    where t.title is not null`
}

interface Found {
  strength: number
  readonly of: Set<string>
  readonly titles: Set<string>
  readonly near: Map<string, number>
}

function scorePlace(sources: readonly Source[], { project }: DiscoverQuery, watched: ReadonlySet<string>) {
  const [first] = sources
  if (first === undefined) return []
  const { store, location, locationCode, language } = first
  const candidates = withoutParts(collect(sources, language))
    .filter(([phrase]) => !watched.has(keyOf(store, locationCode, phrase)))
    .map(([keyword, found]) => ({
      keyword,
      found,
      worth:
        found.strength *
        Math.log2(1 + found.of.size) *
        (WORTH_OF_WORDS[countWords(keyword, language)] ?? 0.5),
    }))
  const best = Math.max(...candidates.map(({ worth }) => worth))
  return candidates.map(({ keyword, found, worth }) => ({
    ...{ project, store, keyword, location, locationCode, language },
    score: Math.round((1000 * worth) / best) / 10,
    apps: found.of.size,
    examples: [...found.titles].slice(0, EXAMPLES),
    near: [...found.near].toSorted((a, b) => b[1] - a[1])[0]?.[0] ?? '',
  }))
}

/** Each phrase that apps of two developers have: what one alone has is its name. */
function collect(sources: readonly Source[], language: string): [string, Found][] {
  const phrases = new Map<string, Found>()
  for (const { text, of, title, strength, near } of sources) {
    for (const phrase of listPhrases(text, language)) {
      const found = phrases.get(phrase) ?? { strength: 0, of: new Set(), titles: new Set(), near: new Map() }
      phrases.set(phrase, found)
      found.strength += strength
      found.of.add(of)
      found.titles.add(title)
      if (near !== null) found.near.set(near, (found.near.get(near) ?? 0) + strength)
    }
  }
  return [...phrases].filter(([, { of }]) => of.size > 1)
}

/** `studio` is none where nearly all that have it have `yoga studio`. */
function withoutParts(phrases: readonly [string, Found][]): readonly [string, Found][] {
  const covered = new Set<string>()
  const known = new Map(phrases)
  for (const [longer, { of }] of phrases) {
    const words = longer.split(' ')
    for (let from = 0; from < words.length; from += 1) {
      for (let to = from + 1; to <= words.length; to += 1) {
        const part = words.slice(from, to).join(' ')
        const found = part === longer ? undefined : known.get(part)
        if (found !== undefined && of.size >= SAME_APPS * found.of.size) covered.add(part)
      }
    }
  }
  return phrases.filter(([phrase]) => !covered.has(phrase))
}

export interface Probed extends Pick<Proposal, 'keyword' | 'store' | 'location'> {
  readonly isMeasured: boolean
  /** Why it was not; null while it is outstanding. */
  readonly problem: string | null
  /** Of the best own app; null: not among the first `depth`. */
  readonly rank: number | null
  readonly depth: number | null
  readonly competitors: number
  readonly results: number | null
  readonly first: string | null
}

/** What they cost at most, in micro-dollars: one billing unit each. */
export async function priceProbes({ sql }: Database, keywords: readonly Candidate[]): Promise<number> {
  const [row] = await sql<{ micros: number }[]>`
    select coalesce(sum(p.unit_micros), 0)::int as micros
    from unnest(${keywords.map(({ store }) => store)}::text[]) k (store)
    join unit_price p on p.store = k.store and p.function = 'app_searches' and p.priority = 1`
  return row?.micros ?? 0
}

/**
 * Ordinary watches of the project, within its budgets, of no weight, so that neither visibility nor share of
 * voice counts them, until they are measured.
 */
export async function addProbes(db: Database, project: string, keywords: readonly Candidate[]) {
  const rows = await db.sql<{ store: Store; results: number }[]>`
    select store, unit_results as results from unit_price where function = 'app_searches' and priority = 1`
  const depthOf = new Map(rows.map(({ store, results }) => [store, results]))
  for (const { keyword, store, locationCode, language } of keywords) {
    const depth = depthOf.get(store)
    const place = { location: String(locationCode), language, ...(depth === undefined ? {} : { depth }) }
    const watch = { project, keywords: [keyword], store: shortName(store), ...place }
    await addKeywords(db, { ...watch, every: '1 day', apps: [], tags: [TAG] })
  }
  await db.sql`update keyword_watch set weight = 0, enabled = true
    where project = ${project} and ${TAG} = any(tags)`
}

/** What was measured stays. */
export async function endProbes({ sql }: Database, project: string): Promise<void> {
  await sql`update keyword_watch set enabled = false
    where project = ${project} and ${TAG} = any(tags) and enabled`
}

export async function readProbes({ sql }: Database, project: string): Promise<Probed[]> {
  return sql<Probed[]>`
    select t.subject as keyword, t.store, coalesce(l.name, t.location_code::text) as location,
      r.app_ids is not null as "isMeasured", coalesce(r.reason, k.problem) as problem,
      (select min(array_position(r.app_ids, a.app)) from project_apps(${project}) a
        where a.role = 'own') as rank,
      r.depth, (select count(*) from project_apps(${project}) a
        where a.role = 'competitor' and a.app = any(r.app_ids[:10]))::int as competitors,
      r.results_count as results, (select n.title from app_name n where n.app = r.app_ids[1]) as first
    from keyword_watch w
    join watch_period p on p.kind = 'keyword' and p.watch_id = w.id and p.ended_at is null
    join target t on t.id = p.target_id
    left join location l on l.store = t.store and l.code = t.location_code
    left join lateral (
      select * from ranking_row o where o.target_id = t.id and o.slot >= p.first_slot
      order by o.slot desc limit 1
    ) r on true
    left join lateral (
      select o.problem from task o where o.target_id = t.id and o.state <> 'posted'
      order by o.slot desc limit 1
    ) k on true
    where w.project = ${project} and ${TAG} = any(w.tags) and w.enabled
    order by rank nulls last, keyword`
}

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

/**
 * Phrases of a text that somebody may search for: one to three words beside each other, as the language
 * divides them, also where it writes no spaces.
 * @param language a code such as `en` or `zh-CN`; one that is not known is divided by spaces and marks
 */
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
