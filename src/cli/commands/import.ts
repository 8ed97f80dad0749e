/** Watches or rules of alerts from files. It exits with 1 when a row was refused or it was stopped. */
import { basename } from 'node:path'
import type { SqlRunner } from '../../db/database.ts'
import { ConfigurationError } from '../../errors.ts'
import { readTotal } from '../../plan/forecast.ts'
import { formatUsd } from '../../text/money.ts'
import { countOf, formatCount } from '../../text/words.ts'
import { openWatchFile, type WatchFile } from '../../watch/file-text.ts'
import { importWatches } from '../../watch/import.ts'
import type { Import } from '../../watch/tally.ts'
import { argument, type CommandContext, command, flag, option, repeated } from '../command.ts'
import { withDatabase } from '../database-session.ts'
import type { Part } from '../document.ts'
import { EXIT } from '../failure.ts'
import { encoding } from '../option-values.ts'
import { createProgress } from '../progress.ts'
import { warn } from '../tell.ts'

const SHOWN_REFUSALS = 20
/** A short import says nothing while it goes on. */
const QUIET_MS = 2_000

export const importCommand = command({
  group: 'Watch',
  summary: 'bring watches or rules of alerts in from files: adds and changes what they name, deletes nothing',
  arguments: {
    files: argument(
      '<file...>',
      'CSV or .xlsx: columns in any usual spelling, a plain list of keywords, a matrix of keywords and ' +
        'countries, or what `export` writes; - is stdin. With `history` before it, ranks of another tool: ' +
        'date, keyword, country, store, app, rank',
    ),
  },
  options: {
    trial: flag('say what would happen and what it would cost, and change nothing'),
    replace: option('<project>', 'disable what the files do not name of this project'),
    map: repeated(option('<header=column>', 'what a column is, such as "Term=keyword"; may be repeated')),
    project: option('<name>', 'of rows that name none (default: the only one)'),
    store: option('<store>', 'of rows that name none: ios, android or both with a comma'),
    country: option('<country>', 'of rows that name none: US, Germany, or several with commas'),
    language: option('<language>', 'of rows that name none (default: that of the country)'),
    app: option('<id>', 'of a history whose rows name none'),
    source: option('<name>', 'of a history: the tool that measured (default: the name of the file)'),
    encoding: option('<name>', 'if not UTF-8, such as windows-1252 (default: guessed)', encoding),
  },
  offers: [
    {
      name: 'import_trial',
      summary: 'What an import of watches would change and cost a month; changes nothing',
      role: 'storerank_editor',
      fixed: { trial: true },
      textOf: 'files',
    },
    {
      name: 'import',
      summary: 'Adds and changes the watches that a CSV names, within the budgets; try import_trial first',
      role: 'storerank_editor',
      changes: true,
      fixed: { trial: false },
      textOf: 'files',
    },
  ],
  examples: ['storerank import terms.txt --project fitness --store ios --country US,GB --trial'],
  run: async ({ files: given, trial, replace, encoding: charset, map, source, ...lacking }, context) => {
    const { names, history } = findHistory(given, source)
    const files: Awaited<ReturnType<typeof openWatchFile>>[] = []
    try {
      for (const name of names) files.push(await openWatchFile(name, charset))
      for (const sentence of files.flatMap(({ told }) => told)) warn(context, sentence)
      for (const file of files) if (file.isGuessed) await tellGuess(file, context)
      const options = {
        isTrial: trial,
        // An assistant brings in no rules and channels of alerts.
        onlyWatches: context.person !== undefined,
        signal: context.signal,
        ...(trial ? { readCost: (tx: SqlRunner) => readTotal(tx) } : {}),
        onUnderstood: (sentence: string) => warn(context, sentence),
        lacking,
        map,
        ...(history === undefined ? {} : { history }),
        ...(replace === undefined ? {} : { replace }),
      }
      const progress = showProgress(context)
      // A watchlist may be the first thing there is in the embedded database.
      const done = await withDatabase(
        context,
        ({ db }) =>
          importWatches(db, files, { ...options, onProgress: progress.update }).finally(progress.stop),
        { makes: 'embedded' },
      )
      warnOfRefused(done, files.length > 1, context)
      return {
        parts: [describeCounts(done, trial), describeCost(done, trial)],
        warnings: describeOddities(done, trial),
        exitCode: done.refusedCount === 0 && !done.isStopped ? EXIT.done : EXIT.failed,
      }
    } finally {
      for (const file of files) await file.dispose()
    }
  },
})

/** `storerank import history FILE`: ranks that a tool measured, which is named, or else the file. */
function findHistory(
  given: readonly string[],
  source: string | undefined,
): { readonly names: readonly string[]; readonly history?: string } {
  const [first, ...names] = given
  if (first !== 'history') {
    if (source === undefined) return { names: given }
    throw new ConfigurationError('--source is of past ranks: storerank import history FILE --source NAME.')
  }
  if (names[0] === undefined) throw new ConfigurationError('Name the file: storerank import history FILE.')
  return { names, history: source ?? basename(names[0]).slice(0, 100) }
}

/** A person sees by a word whether its letters are right. */
async function tellGuess(file: WatchFile, context: CommandContext): Promise<void> {
  let word = ''
  for await (const text of file.text()) {
    word = /[^\s,;"]*\P{ASCII}[^\s,;"]*/u.exec(text)?.[0].slice(0, 60) ?? ''
    if (word !== '') break
  }
  const seen = word === '' ? '' : `, so that it has the word ${JSON.stringify(word)}`
  warn(
    context,
    `${file.name} is not UTF-8. It is read as ${file.encoding}${seen}. ` +
      'If that is wrong, save it as "CSV UTF-8", or give --encoding.',
  )
}

function showProgress(context: CommandContext) {
  const progress = createProgress(context)
  const beganMs = performance.now()
  let isShown = false
  return {
    update: (rows: number) => {
      if (!isShown && performance.now() - beganMs < QUIET_MS) return
      if (!isShown) progress.phase('importing')
      isShown = true
      progress.update(`${formatCount(rows)} rows`, { rows })
    },
    stop: () => progress.stop(),
  }
}

function warnOfRefused({ refused, refusedCount }: Import, isSeveral: boolean, context: CommandContext): void {
  for (const { file, line, subject, reason } of refused.slice(0, SHOWN_REFUSALS)) {
    const where = isSeveral ? `${file}, line ${line}` : `Line ${line}`
    const what = subject === '' ? '' : `, ${JSON.stringify(subject)},`
    warn(context, `${where}${what} is refused: ${reason}.`)
  }
  if (refusedCount > SHOWN_REFUSALS)
    warn(context, `… and ${formatCount(refusedCount - SHOWN_REFUSALS)} more.`)
}

/** What is odd about what came in, and whether all did. */
function describeOddities(done: Import, isTrial: boolean): string[] {
  const { problems, isStopped, stillDisabled } = done
  const disabled =
    `${countOf(stillDisabled, 'row is', 'rows are')} disabled in these projects, and stay so: a file ` +
    'enables what has true in a column enabled.'
  const told = problems.map(({ message, watches }) =>
    watches === 1 ? message : `${countOf(watches, 'watch', 'watches')}: ${message}`,
  )
  const stopped = isTrial
    ? 'Stopped: the trial is not complete.'
    : 'Stopped between two rows. What was counted is in; import the files again for the rest.'
  return [...done.odd, ...(stillDisabled > 0 ? [disabled] : []), ...told, ...(isStopped ? [stopped] : [])]
}

function describeCounts(done: Import, isTrial: boolean): string {
  const { tables, added, changed, unchanged, disabled, enabled, refusedCount } = done
  const counts = [
    `${formatCount(added)} added`,
    `${formatCount(changed)} changed`,
    `${formatCount(unchanged)} as they were`,
    ...(disabled === null ? [] : [`${formatCount(disabled)} disabled`]),
    ...(done.unranked === 0 ? [] : [`${formatCount(done.unranked)} without a rank`]),
    ...(enabled === 0 ? [] : [`${formatCount(enabled)} enabled again`]),
    `${formatCount(refusedCount)} refused`,
  ]
  const where = tables.length === 0 ? '' : `${tables.join(', ')}: `
  return `${where}${counts.join(', ')}.${isTrial ? ' Nothing was changed: this was a trial.' : ''}`
}

function describeCost({ tables, cost, added, changed, disabled }: Import, isTrial: boolean): Part {
  const isChange = added + changed + (disabled ?? 0) > 0
  if (!isChange) return null
  if (tables.includes('imported_rank'))
    return !isTrial && 'The view rank_history shows them, as imported. They cost nothing.'
  if (tables.every((table) => table === 'alert_rule' || table === 'alert_channel'))
    return !isTrial && '`storerank alerts --trial` says what the rules would have told.'
  if (cost === null)
    return !isTrial && '`storerank forecast` says what they cost a month, `storerank plan` what is due now.'
  const { before, after } = cost
  const difference = after.monthMicros - before.monthMicros
  const change =
    difference === 0
      ? 'as before'
      : `${formatUsd(Math.abs(difference))} ${difference > 0 ? 'more' : 'less'} than now`
  const day = `${formatUsd(after.dayMicros)} a day`
  return `All watches would cost ${day} and ${formatUsd(after.monthMicros)} a month, ${change}.`
}
