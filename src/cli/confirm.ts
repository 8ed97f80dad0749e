/** Asks a person at the terminal. */
import { createInterface } from 'node:readline/promises'
import { ConfigurationError } from '../errors.ts'
import type { CommandContext } from './command.ts'

/**
 * @param question without the choice
 * @param unasked the sentence for where nobody can be asked
 * @returns whether it is wanted
 * @throws ConfigurationError where nobody can be asked
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
