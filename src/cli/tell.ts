/** What a person is told and asked beside the result. */
import { basename, relative } from 'node:path'
import { createInterface } from 'node:readline/promises'
import { ConfigurationError } from '../errors.ts'
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

/**
 * Asks a person at the terminal whether it is wanted.
 * @throws ConfigurationError with `unasked` where nobody can be asked
 */
export async function confirm(
  question: string,
  unasked: string,
  { stderr, isTerminal, signal }: CommandContext,
): Promise<boolean> {
  if (!isTerminal || !process.stdin.isTTY) throw new ConfigurationError(unasked)
  const terminal = createInterface({ input: process.stdin, output: stderr })
  try {
    return /^y(es)?$/i.test((await terminal.question(`${question} [y/N] `, { signal })).trim())
  } finally {
    terminal.close()
  }
}

/**
 * How the command was called, for hints that a person copies: by its name where it is on the PATH; with npx
 * in its own folder, where npm and npx have started it; else by its path.
 */
export function nameCommand(): string {
  const program = process.argv[1] ?? 'storerank'
  if (/[\\/]_npx[\\/]/.test(program)) return 'npx storerank'
  if (basename(program) === 'storerank') return 'storerank'
  return relative(process.cwd(), program).startsWith('..') ? program : 'npx storerank'
}
