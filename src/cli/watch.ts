/** `storerank watch "a keyword"`: watches one keyword, with defaults that it tells; `--from-app` proposes keywords. */
import { requireCurrentSchema } from '../db/migrate.ts'
import { ConfigurationError } from '../errors.ts'
import { toPrintable } from '../log.ts'
import { addKeyword, proposeKeywords, shortName, type Watched } from '../watch/add.ts'
import type { CommandContext, CommandOptions } from './command.ts'
import { type DatabaseSession, openDatabaseSession } from './database-session.ts'
import { formatCount, printCsv, printJson, printTable } from './print.ts'

/** SQLSTATE classes of what is wrong with a row: its data, a rule. */
const ROW_AT_FAULT = /^(22|23|P0)/

export async function run(options: CommandOptions['watch'], context: CommandContext): Promise<number> {
  const { keyword, fromApp } = options
  if ((keyword === undefined) === (fromApp === undefined)) {
    throw new ConfigurationError(
      'Give a keyword, or --from-app with the id of an app, and one of them alone.',
    )
  }
  const session = await openDatabaseSession(context, { migrates: context.config.databaseUrl === null })
  try {
    await requireCurrentSchema(session.db)
    if (fromApp !== undefined) return await propose(session, fromApp, options, context)
    return await add(session, keyword ?? '', options, context)
  } finally {
    await session.close()
  }
}

async function add(
  { db }: DatabaseSession,
  keyword: string,
  { apps, tags, format: _format, fromApp: _fromApp, ...wish }: CommandOptions['watch'],
  { stdout, stderr }: CommandContext,
): Promise<number> {
  try {
    const watched = await addKeyword(db, { ...wish, keyword, appIds: apps, tags })
    stdout.write(`${toPrintable(describeWatched(keyword, watched))}\n`)
    return 0
  } catch (error) {
    const { code = '', message, hint } = error as { code?: string; message: string; hint?: string }
    if (!ROW_AT_FAULT.test(code)) throw error
    stderr.write(`${toPrintable([message, hint].filter(Boolean).join('\n'))}\n`)
    return 1
  }
}

function describeWatched(keyword: string, watched: Watched): string {
  const { project, store, location, language, defaults, isNew, apps } = watched
  const where = `${JSON.stringify(keyword)} in the ${store}, ${location}, ${language}, in the project ${project}`
  return [
    isNew ? `Watched from now on: ${where}.` : `Watched already, and left as it was: ${where}.`,
    ...(defaults.length === 0 ? [] : [`By default: ${defaults.join(' ')}`]),
    ...(apps === 0
      ? [`No app of ${project} in the ${store} is watched, so no rank is kept for it: give one with --app.`]
      : []),
    isNew
      ? '`storerank run` measures it now, `storerank forecast` says what it costs.'
      : '`storerank import` or SQL changes it.',
  ].join('\n')
}

async function propose(
  { db }: DatabaseSession,
  appId: string,
  { project, format }: CommandOptions['watch'],
  context: CommandContext,
): Promise<number> {
  const proposals = await proposeKeywords(db, appId, project)
  if (format === 'json') printJson(proposals, context)
  else if (format === 'csv') {
    const rows = proposals.map((each) => ({
      ...each,
      location_code: each.locationCode,
      language_code: each.language,
    }))
    const columns = ['project', 'store', 'keyword', 'location_code', 'language_code']
    printCsv(
      rows,
      columns.map((key) => ({ key })),
      context,
    )
  } else if (proposals.length === 0) {
    context.stdout.write(
      `Nothing to propose: no keyword is stored on which ${appId} ranks and which its project does not watch.\n`,
    )
  } else {
    const rows = proposals.map((each) => ({ ...each, store: shortName(each.store) }))
    const columns = ['project', 'store', 'keyword', 'location', 'language', 'rank']
    printTable(
      rows,
      columns.map((key) => ({ key })),
      context,
    )
    context.stdout.write(
      `${formatCount(proposals.length)} keywords. With --csv they are a file for \`storerank import\`, which says by --trial what they cost.\n`,
    )
  }
  return 0
}
