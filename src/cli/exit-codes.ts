/** What a command leaves with, as docs/operations.md lists it. */
import { AccountError, ConfigurationError } from '../errors.ts'

export const EXIT = {
  done: 0,
  failed: 1,
  /** Usage or configuration. */
  misused: 2,
  /** The account has no money left, or a limit of it is used up. */
  outOfMoney: 3,
  /** Another runner has the job. */
  busy: 75,
} as const

/** The exit code of a command that an error ended. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof ConfigurationError) return EXIT.misused
  return error instanceof AccountError && error.code === 'account_money' ? EXIT.outOfMoney : EXIT.failed
}
