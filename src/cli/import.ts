/**
 * `storerank import`: watches, or rules and channels of alerts, from CSV files. Exit code 1 when a row was refused or it was stopped;
 * what came before is in.
 */
import type { SqlRunner } from '../db/database.ts'
import { toPrintable } from '../log.ts'
import { readTotal } from '../plan/forecast.ts'
import { openWatchFile, type WatchFile } from '../watch/file-text.ts'
import { type Import, importWatches } from '../watch/import.ts'
import type { CommandContext, CommandOptions } from './command.ts'
import { openDatabaseSession } from './database-session.ts'
import { formatCount, formatMicros } from './print.ts'
import { createProgress } from './progress.ts'

const SHOWN_REFUSALS = 20
/** A short import says nothing while it goes on. */
const QUIET_MS = 2_000

type OpenFile = Awaited<ReturnType<typeof openWatchFile>>

export async function run(
  { files: names, trial: isTrial, replace, encoding }: CommandOptions['import'],
  context: CommandContext,
): Promise<number> {
  const files: OpenFile[] = []
  try {
    for (const name of names) files.push(await openWatchFile(name, encoding))
    for (const file of files) if (file.isGuessed) await tellGuess(file, context)
    // A watchlist may be the first thing there is in the embedded database.
    const session = await openDatabaseSession(context, { migrates: context.config.databaseUrl === null })
    const progress = showProgress(context)
    try {
      const { signal } = context
      const options = {
        isTrial,
        signal,
        ...(isTrial ? { readCost: (tx: SqlRunner) => readTotal(tx) } : {}),
        onProgress: progress.update,
        ...(replace === undefined ? {} : { replace }),
      }
      const done = await importWatches(session.db, files, options).finally(progress.stop)
      report(done, { isTrial, isSeveral: files.length > 1 }, context)
      return done.refusedCount === 0 && !done.isStopped ? 0 : 1
    } finally {
      await session.close()
    }
  } finally {
    for (const file of files) await file.dispose()
  }
}

/** A person sees by a word whether its letters are right. */
async function tellGuess(file: WatchFile, { stderr }: CommandContext): Promise<void> {
  let word = ''
  for await (const text of file.text()) {
    word = /[^\s,;"]*\P{ASCII}[^\s,;"]*/u.exec(text)?.[0].slice(0, 60) ?? ''
    if (word !== '') break
  }
  const seen = word === '' ? '' : `, so that it has the word ${JSON.stringify(word)}`
  stderr.write(
    `${toPrintable(`${file.name} is not UTF-8. It is read as ${file.encoding}${seen}. If that is wrong, save it as "CSV UTF-8", or give --encoding.`)}\n`,
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

function report(
  done: Import,
  { isTrial, isSeveral }: { isTrial: boolean; isSeveral: boolean },
  { stdout, stderr }: CommandContext,
) {
  const { tables, added, changed, unchanged, disabled, refused, refusedCount } = done
  for (const { file, line, subject, reason } of refused.slice(0, SHOWN_REFUSALS)) {
    const where = isSeveral ? `${file}, line ${line}` : `Line ${line}`
    const what = subject === '' ? '' : `, ${JSON.stringify(subject)},`
    stderr.write(`${toPrintable(`${where}${what} is refused: ${reason}.`)}\n`)
  }
  if (refusedCount > SHOWN_REFUSALS)
    stderr.write(`… and ${formatCount(refusedCount - SHOWN_REFUSALS)} more.\n`)
  const counts = [
    `${formatCount(added)} added`,
    `${formatCount(changed)} changed`,
    `${formatCount(unchanged)} as they were`,
    ...(disabled === null ? [] : [`${formatCount(disabled)} disabled`]),
    `${formatCount(refusedCount)} refused`,
  ]
  stdout.write(
    `${tables.length === 0 ? '' : `${tables.join(', ')}: `}${counts.join(', ')}.${isTrial ? ' Nothing was changed: this was a trial.' : ''}\n`,
  )
  for (const { message, watches } of done.problems) {
    stderr.write(`${toPrintable(watches === 1 ? message : `${formatCount(watches)} watches: ${message}`)}\n`)
  }
  if (done.isStopped) {
    stderr.write(
      isTrial
        ? 'Stopped: the trial is not complete.\n'
        : 'Stopped between two rows. What was counted is in; import the files again for the rest.\n',
    )
  }
  tellCost(done, { isTrial }, stdout)
}

function tellCost(
  { tables, cost, added, changed, disabled }: Import,
  { isTrial }: { isTrial: boolean },
  stdout: CommandContext['stdout'],
): void {
  const isChange = added + changed + (disabled ?? 0) > 0
  if (!isChange) return
  if (tables.every((table) => table === 'alert_rule' || table === 'alert_channel')) {
    if (!isTrial) stdout.write('`storerank alerts --trial` says what the rules would have told.\n')
    return
  }
  if (cost !== null) {
    const { before, after } = cost
    const difference = after.monthMicros - before.monthMicros
    const change =
      difference === 0
        ? 'as before'
        : `${formatMicros(Math.abs(difference))} ${difference > 0 ? 'more' : 'less'} than now`
    stdout.write(
      `All watches would cost ${formatMicros(after.dayMicros)} a day and ${formatMicros(after.monthMicros)} a month, ${change}.\n`,
    )
  } else if (!isTrial) {
    stdout.write('`storerank forecast` says what they cost a month, `storerank plan` what is due now.\n')
  }
}
