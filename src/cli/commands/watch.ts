/** Watches keywords, with defaults that it tells, or proposes keywords. */
import type { Database } from '../../db/database.ts'
import { ConfigurationError } from '../../errors.ts'
import { formatCount } from '../../text/words.ts'
import { addKeywords, proposeKeywords, shortName, type WatchedKeywords } from '../../watch/add.ts'
import { argument, type CommandContext, command, flag, type Given, option, repeated } from '../command.ts'
import { withDatabase } from '../database-session.ts'
import { type Document, type Part, table } from '../document.ts'
import { EXIT } from '../failure.ts'
import { interval, priority, wholeNumber } from '../option-values.ts'
import { warn } from '../tell.ts'

/** SQLSTATE classes of what is wrong with a row: its data, a rule. */
const ROW_AT_FAULT = /^(22|23|P0)/

const options = {
  app: repeated(option('<id>', 'an app of the project, by its id or address; may be repeated')),
  store: option('<store>', 'ios, android or both with a comma (default: by the app, else ios)'),
  location: option('<name>', 'US, Germany, several with commas, or a place (default: the usual one)'),
  country: option('<country>', 'the same as --location'),
  language: option('<language>', 'such as en (default: the usual one, or that of the country)'),
  project: option('<name>', 'default: that of the app, or the only one'),
  every: option('<interval>', 'how often: 1, 2, 3, 4, 6, 8 or 12h, 1 to 31d', interval),
  depth: option('<number>', 'results to look at', wholeNumber(1, 700)),
  priority: option('<number>', '1, or 2: twice the price', priority),
  tag: repeated(option('<tag>', 'may be repeated')),
  fromApp: option('<id>', 'propose keywords on which this app ranks in what is stored'),
  json: flag('print proposals as JSON'),
  csv: flag('print proposals as the file that `storerank import` reads', { conflicts: ['json'] }),
}
type Wish = Omit<Given<typeof options>, 'fromApp' | 'csv' | 'json'> & { keywords: readonly string[] }

export const watch = command({
  group: 'Watch',
  summary: 'watch keywords, with defaults it tells; --from-app proposes keywords',
  arguments: { keywords: argument('[keyword...]', 'as people type them into the search of the store') },
  options,
  offers: [
    {
      name: 'watch',
      summary: 'Watches keywords, within the budgets; with fromApp proposes keywords and changes nothing',
      role: 'storerank_editor',
      changes: true,
    },
  ],
  examples: ['storerank watch "meditation timer" --app 1480010017 --store ios --location "United States"'],
  run: async ({ fromApp, csv, json: _, ...wish }, context) => {
    if ((wish.keywords.length === 0) === (fromApp === undefined))
      throw new ConfigurationError(
        'Give keywords, or --from-app with the id of an app, and one of them alone.',
      )
    if (csv && fromApp === undefined) throw new ConfigurationError('--csv is of proposals: give --from-app.')
    return withDatabase(
      context,
      ({ db }) => (fromApp === undefined ? add(db, wish, context) : propose(db, fromApp, wish.project, csv)),
      { makes: 'embedded' },
    )
  },
})

async function add(
  db: Database,
  { app, tag, country, location = country, ...wish }: Wish,
  context: CommandContext,
): Promise<Document | number> {
  try {
    const where = location === undefined ? {} : { location }
    const done = await addKeywords(db, { ...wish, ...where, apps: app, tags: tag })
    return { data: done.watched, parts: describeWatched(done) }
  } catch (error) {
    const { code = '', message, hint } = error as { code?: string; message: string; hint?: string }
    if (!ROW_AT_FAULT.test(code)) throw error
    warn(context, [message, hint].filter(Boolean).join('\n'))
    return EXIT.failed
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
  db: Database,
  appId: string,
  project: string | undefined,
  isCsv: boolean,
): Promise<Document> {
  const proposals = await proposeKeywords(db, appId, project)
  if (isCsv) {
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
