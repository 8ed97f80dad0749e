/** The options of `storerank alerts` and `storerank digest`. */
import type { Command } from 'commander'
import type { CommandOptions } from './command.ts'
import { wholeNumber } from './option-values.ts'
import type { Invoke } from './program.ts'

export function addAlerts(
  program: Command,
  invoke: Invoke,
  addExample: (command: Command, example: string) => void,
): void {
  const alerts = program
    .command('alerts')
    .description('show the rules with their last event; what they would have told; or send a test')
    .option('--trial', 'say what the rules would have told over the past days, and send nothing', false)
    .option('--days <number>', 'of the trial (default: 30)', wholeNumber(1, 366))
    .option('--project <name>', 'this project (default: each of them)')
    .option('--json', 'print JSON', false)
    .action((options: CommandOptions['alerts']) => invoke('alerts', options))
  alerts
    .command('test')
    .description('send a message that is marked as a test')
    .argument('<channel>', 'name of a channel')
    .action((test: string) => invoke('alerts', { trial: false, json: false, test }))
  addExample(alerts, 'storerank alerts --trial --days 30')

  const digest = program
    .command('digest')
    .description('print what a digest of the last days would say')
    .option('--project <name>', 'this project (default: each of them)')
    .option('--days <number>', 'days that are compared', wholeNumber(1, 366), 7)
    .action((options: CommandOptions['digest']) => invoke('digest', options))
  addExample(digest, 'storerank digest --project fitness --days 7')
}
