/** What `storerank watch` does: watches one keyword, with defaults that it tells, or proposes keywords. */
import { ConfigurationError } from '../errors.ts'
import { formatCount } from '../text/words.ts'
import { addKeyword, type KeywordToWatch, proposeKeywords, shortName, type Watched } from '../watch/add.ts'
import type { CommandContext } from './command.ts'
import type { DatabaseSession } from './database-session.ts'
import { type Document, type Part, table } from './document.ts'
import { withDatabase } from './needs.ts'
import { warn } from './tell.ts'

/** SQLSTATE classes of what is wrong with a row: its data, a rule. */
const ROW_AT_FAULT = /^(22|23|P0)/

/** A keyword, or the id of an app for which keywords are proposed. */
interface WatchOptions extends Omit<KeywordToWatch, 'keyword' | 'appIds' | 'tags' | 'store'> {
  readonly keyword?: string
  readonly app: readonly string[]
  readonly tag: readonly string[]
  readonly store?: 'ios' | 'android'
  readonly fromApp?: string
  readonly json: boolean
  readonly csv: boolean
}

export function watchOrPropose(options: WatchOptions, context: CommandContext): Promise<Document | number> {
  const { keyword, fromApp, csv } = options
  if ((keyword === undefined) === (fromApp === undefined)) {
    throw new ConfigurationError(
      'Give a keyword, or --from-app with the id of an app, and one of them alone.',
    )
  }
  if (csv && fromApp === undefined) throw new ConfigurationError('--csv is of proposals: give --from-app.')
  return withDatabase(
    context,
    (session) =>
      fromApp === undefined
        ? add(session, keyword ?? '', options, context)
        : propose(session, fromApp, options),
    { makes: 'embedded' },
  )
}

async function add(
  { db }: DatabaseSession,
  keyword: string,
  { app, tag, store, json: _json, csv: _csv, fromApp: _fromApp, ...wish }: WatchOptions,
  context: CommandContext,
): Promise<Document | number> {
  try {
    const named = store === undefined ? {} : { store: `${store}_store` as const }
    const watched = await addKeyword(db, { ...wish, ...named, keyword, appIds: app, tags: tag })
    return { data: watched, parts: describeWatched(keyword, watched) }
  } catch (error) {
    const { code = '', message, hint } = error as { code?: string; message: string; hint?: string }
    if (!ROW_AT_FAULT.test(code)) throw error
    warn(context, [message, hint].filter(Boolean).join('\n'))
    return 1
  }
}

function describeWatched(keyword: string, watched: Watched): Part[] {
  const { project, store, location, language, defaults, isNew, apps } = watched
  const place = `${location}, ${language}, in the project ${project}`
  const where = `${JSON.stringify(keyword)} in the ${store}, ${place}`
  return [
    isNew ? `Watched from now on: ${where}.` : `Watched already, and left as it was: ${where}.`,
    defaults.length > 0 && `By default: ${defaults.join(' ')}`,
    apps === 0 &&
      `No app of ${project} in the ${store} is watched, so no rank is kept for it: give one with --app.`,
    isNew
      ? '`storerank run` measures it now, `storerank forecast` says what it costs.'
      : '`storerank import` or SQL changes it.',
  ]
}

async function propose(
  { db }: DatabaseSession,
  appId: string,
  { project, csv }: WatchOptions,
): Promise<Document> {
  const proposals = await proposeKeywords(db, appId, project)
  if (csv) {
    const rows = proposals.map((each) => ({
      ...each,
      location_code: each.locationCode,
      language_code: each.language,
    }))
    return {
      parts: [table(rows, { columns: ['project', 'store', 'keyword', 'location_code', 'language_code'] })],
    }
  }
  if (proposals.length === 0) {
    const none = `No suggestions: all stored keywords on which ${appId} ranks are in its project already.`
    return { data: proposals, parts: [none] }
  }
  const rows = proposals.map((each) => ({ ...each, store: shortName(each.store) }))
  return {
    data: proposals,
    parts: [
      table(rows, { columns: ['project', 'store', 'keyword', 'location', 'language', 'rank'] }),
      `${formatCount(proposals.length)} keywords. With --csv they are a file for \`storerank import\`, ` +
        'which says by --trial what they cost.',
    ],
  }
}
