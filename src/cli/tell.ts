/** What a person should know beside the result: a sentence on a terminal, a line of the log in a pipe. */
import type { CommandContext } from './command.ts'

export function tell(
  { stderr, isTerminal, log }: Pick<CommandContext, 'stderr' | 'isTerminal' | 'log'>,
  note: string,
): void {
  if (isTerminal) stderr.write(`${note}\n`)
  else log.warn({ note }, 'please note')
}
