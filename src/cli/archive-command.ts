/** The options of `storerank archive`. */
import type { Command } from 'commander'
import type { CommandOptions } from './command.ts'
import { parseDay } from './option-values.ts'
import type { Invoke } from './program.ts'

export function addArchive(
  program: Command,
  invoke: Invoke,
  addExample: (command: Command, example: string) => void,
): void {
  const archive = program
    .command('archive')
    .description('write whole months of the history as Parquet files, and compare them with the database')
    .requiredOption('--before <day>', 'months that end by that day, such as 2026-01-01', parseDay)
    .requiredOption('--to <folder>', 'where the files are written; what stands there is never written over')
    .option('--drop', 'then drop these months from the database', false)
    .action((options: CommandOptions['archive']) => invoke('archive', options))
  addExample(archive, 'storerank archive --before 2026-01-01 --to /srv/ranks --drop')
}
