/** What a person should know beside the result. */
import { toPrintable } from '../log.ts'
import type { CommandContext } from './command.ts'

/** A sentence on a terminal, a line of the log in a pipe. */
export function tell(
  { stderr, isTerminal, log }: Pick<CommandContext, 'stderr' | 'isTerminal' | 'log'>,
  note: string,
): void {
  if (isTerminal) stderr.write(`${note}\n`)
  else log.warn({ note }, 'please note')
}

/** A sentence on stderr, terminal or not: what is wrong. */
export function warn({ stderr }: Pick<CommandContext, 'stderr'>, sentence: string): void {
  stderr.write(`${toPrintable(sentence)}\n`)
}
