/**
 * The files of drizzle/objects and drizzle/distributed: definitions in an order in which each stands after
 * what it uses, what columns mean, and rights.
 */
import { createHash } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { FUNCTION_RULES } from '../service/functions.ts'
import { matchWhole } from './match-whole.ts'
import { ROLES } from './roles.ts'

/** One `create or replace …`. */
export interface Definition {
  /** `view rank_history`, `function slot_of` or `trigger keep_period on app_watch`. */
  readonly key: string
  readonly text: string
  /** Statements that say what it and its columns are. */
  readonly comments: string
}

export type Objects = ReturnType<typeof readObjects>

/** Whether period $1 asked for the slot of the row $2. */
const SHOWN = 'is_shown($1.every, $1.first_slot, $1.last_slot, $1.ended_at, $2.slot, $2.gap)'
/** What `{{app}}` and `{{app a}}` stand for: `app_id text, …` and `a.app_id, …`. */
const COMMON: Readonly<Record<string, string>> = {
  begin: 'language sql stable parallel safe begin atomic',
  as_owner: 'language plpgsql security definer set search_path = public, pg_temp',
  shown: SHOWN,
  /** Whether any period of the project $2 asked for it, on the target of $1. */
  asked:
    'exists (select from asked_period q where q.target_id = $1.target_id and q.project = $2 and ' +
    `${SHOWN.replaceAll('$2', '$3').replaceAll('$1', 'q')})`,
  /** Whether no period of the project on the target lasts longer than $1, whose number is $2. */
  lasts_longest:
    'not exists (select from watch_period o where o.target_id = $1.target_id and o.project = $1.project ' +
    "and (coalesce(o.ended_at, 'infinity'), o.id) > (coalesce($1.ended_at, 'infinity'), $1.$2))",
  /** What target $1 is of, where its location is $2. */
  subject:
    "case $1.function when 'app_searches' then $1.subject end as keyword, " +
    "case $1.function when 'app_list' then $1.subject end as collection, $1.category",
  place:
    'coalesce($2.name, $1.location_code::text) as location, $1.location_code, $1.language_code as language',
  /** What the row $1 of spend counts against a budget. */
  committed:
    '$1.reserved_micros + $1.charged_micros + $1.refunded_micros + $1.duplicate_micros + $1.adjusted_micros',
  /** Whether the target t is what $1 asks for: by the index target_once. */
  same_target:
    't.store = $1.store and t.function = $1.function ' +
    'and subject_key(t.subject) collate "C" = subject_key($1.subject) ' +
    "and coalesce(t.category, '') = coalesce($1.category, '') " +
    'and t.location_code = $1.location_code and t.language_code = $1.language_code',
  /** The slots `c` of $1 by their days, of the interval of $2. */
  on_days:
    'join project_slots(in_project, from_day, to_day) c on c.slot = $1.slot ' +
    'and case when c.every = $2.every then true else false end',
  called: '$1.app_id, coalesce($1.label, $1.title, $1.app_id)',
  /** Whether $1 may be of these days in any time zone: constants, by which partitions are pruned. */
  in_days: "$1 >= (from_day - 1) + timetz '00:00+00' and $1 < (to_day + 2) + timetz '00:00+00'",
  filter: 'With a tag or a location, of what has it.',
  days: 'in_project text, from_day date, to_day date',
  tagged: 'in_tag text default null, in_location text default null',
  /** Of a target, where its keyword, collection and app have columns of their own, and where not. */
  measured:
    'store text, function text, keyword text, collection text, category text, app_id text, location text',
  target: 'store text, function text, subject text, location_code integer, language_code text',
  pair: 'own_app_id text, own_label text, competitor_app_id text, competitor_label text',
  app: 'app_id text, title text, label text, role text',
  keyword:
    'store text, keyword text, location text, location_code integer, language text, tags text[], ' +
    'weight double precision',
  list:
    'store text, list text, keyword text, collection text, category text, location text, ' +
    'location_code integer, language text, tags text[], weight double precision',
}

/**
 * @param folder drizzle/ of a version
 * @throws Error when a file holds what cannot be replaced
 */
export function readObjects(folder: string) {
  const read = (path: string) => readFileSync(join(folder, path), 'utf8')
  const paths = globSync('{objects,distributed}/**/*.{sql,txt}', { cwd: folder }).sort()
  const refusals = () => listRefusals(read('objects/refusals.txt'))
  const texts = new Map(paths.map((path) => [path, expand(read(path), refusals)]))
  const parts = paths
    .filter((path) => path.startsWith('objects/') && path.endsWith('.sql'))
    .flatMap((path) => split(texts.get(path) ?? ''))
  const triggers = split(listTriggers(texts.get('objects/triggers.txt') ?? ''))
  const definitions = sortByUse(definitionsOf([...parts, ...triggers]))
  return {
    /** Changes whenever a file or their order does. */
    hash: createHash('sha256')
      .update([...texts.values(), ...triggers].join('\0'))
      .digest('hex'),
    definitions,
    /** What takes the place of some of them where the history is distributed. */
    distributed: definitionsOf(split(texts.get('distributed/objects.sql') ?? '')).map((definition) =>
      fillAround(definition, definitions),
    ),
    /** Statements that say what tables and their columns are. */
    tables: writeComments('table', texts.get('objects/tables.txt') ?? ''),
    /** What a column means, by its name, where its view or table does not say it itself. */
    columns: readEntries(read('objects/columns.txt')),
    /** What not everybody may call. */
    revokes: parts.filter((text) => text.startsWith('revoke ')),
    /** The `grant … to` of the roles of people, which may be missing. */
    grants: [...parts.filter((text) => text.startsWith('grant ')), grantViews(definitions)],
  }
}

/** Every view is for everybody who has a role of ours. */
function grantViews(definitions: readonly Definition[]): string {
  const views = definitions.flatMap(({ key }) => /^view (.*)/.exec(key)?.[1] ?? [])
  return `grant select on ${views.join(', ')} to ${ROLES.join(', ')};`
}

function expand(text: string, refusals: () => string): string {
  return text
    .replace('{{function_rules}}', listFunctionRules)
    .replace('{{refusals}}', refusals)
    .replace(/\{\{(\w+)((?: [\w.]+)*)\}\}/g, listCommon)
}

/** A text of COMMON with what is given for $1, …; else its columns of an alias, where one is given. */
function listCommon(whole: string, name: string, names: string): string {
  const text = COMMON[name]
  if (text === undefined) return whole
  const given = names.trim().split(' ')
  if (text.includes('$1')) return text.replaceAll(/\$(\d)/g, (_, n) => given[n - 1] ?? '')
  return names === '' ? text : text.replace(/(\w+) [^,]+/g, `${given[0]}.$1`)
}

/** `name, name: sentence`, of which further lines are indented. */
function readEntries(text: string): Map<string, string> {
  const entries = matchWhole(text.replace(/\n +/g, ' '), /^([\w.]+(?:, [\w.]+)*): (.*)$/gm)
  return new Map(
    entries.flatMap(([, names = '', sentence = '']) =>
      names.split(', ').map((name) => [name, sentence] as const),
    ),
  )
}

/** How a trigger of a statement calls the rows that it sees. */
const SEEN: Readonly<Record<string, string>> = {
  new: 'referencing new table as fresh ',
  old: 'referencing old table as stale ',
  'old and new': 'referencing old table as stale new table as fresh ',
  statement: '',
}

/** `name on table, table: when, for what -> function` as statements; else for each row. */
function listTriggers(text: string): string {
  const form = /^(\w+) on (.*?): (.*?)(?:, (old and new|new|old|statement|when .*))? -> (.*)$/gm
  const entries = matchWhole(text.replace(/\n +/g, ' '), form)
  const statements = entries.flatMap(([, name, tables = '', when, of = '', call]) => {
    const rows = of in SEEN ? `${SEEN[of]}for each statement` : `for each row ${of}`
    const does = `${rows} execute function ${call};\n`
    return tables.split(', ').map((table) => `create or replace trigger ${name} ${when} on ${table} ${does}`)
  })
  return [...statements].join('')
}

/** Rule, what is said of a row that breaks it, and what to do; null where its name says the first. */
function listRefusals(text: string): string {
  const rows = Array.from(readEntries(text), ([rule, said]) => {
    const [sentence, remedy] = said.split(/ ?\| /).map((each) => `'${each.replaceAll("'", "''")}'`)
    return `('${rule}', nullif(${sentence}, ''), ${remedy})`
  })
  return rows.join(',\n  ')
}

/**
 * The rows of FUNCTION_RULES: store, function, results in a billing unit, and what that costs in
 * micro-dollars.
 */
function listFunctionRules(): string {
  const rows = Object.entries(FUNCTION_RULES).flatMap(([store, rules]) =>
    Object.entries(rules).map(
      ([fn, rule]) => `('${store}', '${fn}', ${rule.billingUnitResults}, ${rule.unitCostMicros}::bigint)`,
    ),
  )
  return rows.join(',\n  ')
}

/** What `name: sentence` and `name.column: sentence` say, as statements. */
function writeComments(kind: string, text: string): string {
  const statements = Array.from(readEntries(text), ([name, sentence]) => {
    const of = name.includes('.') ? 'column' : kind
    return `comment on ${of} ${name} is '${sentence.replaceAll("'", "''")}';\n`
  })
  return statements.join('')
}

/** A definition or right begins at the margin, a definition with what it is: `--- …`. */
function split(text: string): string[] {
  return text.split(/(?<!^--- .*\n)^(?=--- |create |grant |revoke )/m)
}

function definitionsOf(parts: readonly string[]): Definition[] {
  return parts.flatMap((part) => {
    const [, doc = '', text] = /^((?:--- [^\n]*\n)*)(create .*)/s.exec(part) ?? []
    if (text === undefined) return []
    const key = keyOf(text)
    const [kind = '', name = ''] = key.split(' ')
    // `--- .column: …` begins what a column is.
    const said = doc
      .replaceAll(/\n--- (?!\.)/g, ' ')
      .replaceAll(/^--- (\.?)/gm, (_, dot) => name + (dot || ': '))
    return { key, text, comments: writeComments(kind, said) }
  })
}

/** `… {{around}} part;` is the text in objects/, with this part in the place of what is marked there. */
function fillAround(definition: Definition, definitions: readonly Definition[]): Definition {
  const [, part] = /{{around}}\n([^;]*);/.exec(definition.text) ?? []
  const text = definitions.find(({ key }) => key === definition.key)?.text
  if (part === undefined || text === undefined) return definition
  return { ...definition, text: text.replace(/-- <history>.*-- <\/history>/s, () => part) }
}

function keyOf(text: string): string {
  const [, kind, name] = /^create or replace (view|function|procedure|trigger) (\w+)/.exec(text) ?? []
  if (kind === undefined)
    throw new Error(`drizzle/objects holds what cannot be replaced: ${text.slice(0, 80)}`)
  return kind === 'trigger' ? `trigger ${name} on ${/ on (\w+)/.exec(text)?.[1]}` : `${kind} ${name}`
}

/**
 * Each after the views and functions that its text names. Not those in a body of PL/pgSQL, which is looked
 * at when it runs.
 */
function sortByUse(definitions: readonly Definition[]): Definition[] {
  const named = new Map(definitions.map((definition) => [definition.key, definition]))
  const seen = new Set<Definition>()
  const sorted: Definition[] = []
  const add = (definition: Definition | undefined): void => {
    if (definition === undefined || seen.has(definition)) return
    seen.add(definition)
    for (const key of listUsed(definition)) add(named.get(key))
    sorted.push(definition)
  }
  for (const definition of definitions) add(definition)
  return sorted
}

/** Keys of what it may use: what stands where a relation does, or before a bracket. */
function listUsed({ text }: Definition): string[] {
  const code = text.replace(/--.*|'[^']*'/g, '').replace(/language plpgsql.*/s, '')
  const relations = code.matchAll(/(?:\b(?:from|join|on)|,)\s+(\w+)/g)
  const functions = code.matchAll(/\b(\w+)\s*\(/g)
  return [
    ...Array.from(relations, ([, name]) => `view ${name}`),
    ...Array.from(functions, ([, name]) => `function ${name}`),
  ]
}
