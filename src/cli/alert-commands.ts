/** The options of `storerank alerts` and `storerank digest`. */
import type { Command } from 'commander'
import type { CommandOptions, Invoke } from './command.ts'
import { wholeNumber } from './option-values.ts'

export function addAlerts(
  program: Command,
  invoke: Invoke,
  addExample: (command: Command, example: string) => void,
): void {
  const alerts = program
    .command('alerts')
    .description(
      'show the rules with their last event; what they would have told; send a test, or what was given up',
    )
    .option('--trial', 'say what the rules would have told over the past days, and send nothing', false)
    .option('--days <number>', 'of the trial (default: 30)', wholeNumber(1, 366))
    .option('--project <name>', 'this project (default: each of them)')
    .option('--json', 'print JSON', false)
    .action((options: CommandOptions['alerts']) => invoke('alerts', options))
  alerts
    .command('test')
    .description('send a message that is marked as a test')
    .argument('<channel>', 'name of a channel')
    .action((test: string, _, command: Command) => invoke('alerts', { ...readShared(command), test }))
  alerts
    .command('retry')
    .description('send again, under the same ids, the messages that were given up')
    .argument('[channel]', 'name of a channel (default: each of them)')
    .option('--days <number>', 'those that were given up in so many days', wholeNumber(1, 366), 7)
    .action((channel: string | undefined, _, command: Command) => {
      const { days = 7, ...shared } = readShared(command)
      return invoke('alerts', { ...shared, retry: { days, ...(channel === undefined ? {} : { channel }) } })
    })
  addExample(alerts, 'storerank alerts --trial --days 30')

  const digest = program
    .command('digest')
    .description('print what a digest of the last days would say')
    .option('--project <name>', 'this project (default: each of them)')
    .option('--days <number>', 'days that are compared', wholeNumber(1, 366), 7)
    .action((options: CommandOptions['digest']) => invoke('digest', options))
  addExample(digest, 'storerank digest --project fitness --days 7')
}

/** Options of `alerts` itself may stand behind its subcommand: what that does not know is refused, and not left out. */
function readShared(command: Command): CommandOptions['alerts'] {
  return command.optsWithGlobals<CommandOptions['alerts']>()
}
