/** What `storerank watch` does: watches keywords, with defaults that it tells, or proposes keywords. */
import { ConfigurationError } from '../errors.ts'
import { formatCount } from '../text/words.ts'
import {
  addKeywords,
  type KeywordsToWatch,
  proposeKeywords,
  shortName,
  type WatchedKeywords,
} from '../watch/add.ts'
import type { CommandContext } from './command.ts'
import type { DatabaseSession } from './database-session.ts'
import { type Document, type Part, table } from './document.ts'
import { withDatabase } from './needs.ts'
import { warn } from './tell.ts'

/** SQLSTATE classes of what is wrong with a row: its data, a rule. */
const ROW_AT_FAULT = /^(22|23|P0)/

/** Keywords, or the id of an app for which keywords are proposed. */
interface WatchOptions extends Omit<KeywordsToWatch, 'apps' | 'tags'> {
  readonly app: readonly string[]
  readonly tag: readonly string[]
  /** Another name of `location`, as `storerank import` has it. */
  readonly country?: string
  readonly fromApp?: string
  readonly json: boolean
  readonly csv: boolean
}

export function watchOrPropose(options: WatchOptions, context: CommandContext): Promise<Document | number> {
  const { keywords, fromApp, csv } = options
  if ((keywords.length === 0) === (fromApp === undefined)) {
    throw new ConfigurationError('Give keywords, or --from-app with the id of an app, and one of them alone.')
  }
  if (csv && fromApp === undefined) throw new ConfigurationError('--csv is of proposals: give --from-app.')
  return withDatabase(
    context,
    (session) =>
      fromApp === undefined ? add(session, options, context) : propose(session, fromApp, options),
    { makes: 'embedded' },
  )
}

async function add(
  { db }: DatabaseSession,
  { app, tag, json: _json, csv: _csv, fromApp: _fromApp, country, ...wish }: WatchOptions,
  context: CommandContext,
): Promise<Document | number> {
  try {
    const location = wish.location ?? country
    const done = await addKeywords(db, {
      ...wish,
      ...(location === undefined ? {} : { location }),
      apps: app,
      tags: tag,
    })
    return { data: done.watched, parts: describeWatched(done) }
  } catch (error) {
    const { code = '', message, hint } = error as { code?: string; message: string; hint?: string }
    if (!ROW_AT_FAULT.test(code)) throw error
    warn(context, [message, hint].filter(Boolean).join('\n'))
    return 1
  }
}

function describeWatched({ watched, defaults, understood }: WatchedKeywords): Part[] {
  const lonely = new Set(
    watched.filter(({ apps }) => apps === 0).map(({ project, store }) => `${project} in the ${store}`),
  )
  return [
    ...understood,
    ...watched.map(({ keyword, store, location, language, project, isNew }) => {
      const place = `${JSON.stringify(keyword)} in the ${store}, ${location}, ${language}`
      const where = `${place}, in the project ${project}`
      return isNew ? `Watched from now on: ${where}.` : `Watched already, and left as it was: ${where}.`
    }),
    defaults.length > 0 && `By default: ${defaults.join(' ')}`,
    ...[...lonely].map(
      (where) => `No app of ${where} is watched, so no rank is kept for it: give one with --app.`,
    ),
    watched.some(({ isNew }) => isNew)
      ? '`storerank run` measures it now, `storerank forecast` says what it costs.'
      : '`storerank import` or SQL changes it.',
  ]
}

async function propose(
  { db }: DatabaseSession,
  appId: string,
  { project, csv }: Pick<WatchOptions, 'project' | 'csv'>,
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
