/** `storerank import`: watches from a CSV file. Exit code 1 when a row was refused; the others are in. */
import { readFile } from 'node:fs/promises'
import { buffer } from 'node:stream/consumers'
import { ConfigurationError } from '../errors.ts'
import { toPrintable } from '../log.ts'
import { type Import, importWatches } from '../watch/import.ts'
import type { CommandContext, CommandOptions } from './command.ts'
import { openDatabaseSession } from './database-session.ts'
import { formatCount } from './print.ts'

const SHOWN_REFUSALS = 20

export async function run(
  { file, isTrial }: CommandOptions['import'],
  context: CommandContext,
): Promise<number> {
  const csv = await readText(file)
  // A watchlist may be the first thing there is in the embedded database.
  const session = await openDatabaseSession(context, { migrates: context.config.databaseUrl === null })
  try {
    const done = await importWatches(session.db, csv, isTrial)
    report(done, isTrial, context)
    return done.refused.length === 0 ? 0 : 1
  } finally {
    await session.close()
  }
}

/** Old spreadsheets write other encodings, and a keyword with the wrong letters would be paid for. */
async function readText(file: string): Promise<string> {
  try {
    const bytes = file === '-' ? await buffer(process.stdin) : await readFile(file)
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    const reason =
      code === 'ERR_ENCODING_INVALID_ENCODED_DATA' ? 'it is not UTF-8. Save it as "CSV UTF-8"' : message
    throw new ConfigurationError(`${file} cannot be read: ${reason}.`, { cause: error })
  }
}

function report(
  { tables, added, changed, unchanged, refused }: Import,
  isTrial: boolean,
  output: CommandContext,
) {
  for (const { line, subject, reason } of refused.slice(0, SHOWN_REFUSALS)) {
    output.stderr.write(
      `${toPrintable(`Line ${line}, ${JSON.stringify(subject)}, is refused: ${reason}.`)}\n`,
    )
  }
  if (refused.length > SHOWN_REFUSALS) {
    output.stderr.write(`… and ${formatCount(refused.length - SHOWN_REFUSALS)} more.\n`)
  }
  const counts = `${formatCount(added)} added, ${formatCount(changed)} changed, ${formatCount(unchanged)} as they were`
  output.stdout.write(
    `${tables.join(', ')}: ${counts}, ${formatCount(refused.length)} refused.${isTrial ? ' Nothing was changed: this was a trial.' : ''}\n`,
  )
  if (!isTrial && added + changed > 0) output.stdout.write('`storerank plan` says what they cost.\n')
}
