/** What a command that ended leaves with, and what a person is told of an error that ended it. */
import { inspect } from 'node:util'
import { AccountError, ConfigurationError, StorerankError } from '../errors.ts'

/** docs/operations.md lists them. */
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

const MOST_CAUSES = 5
const STATEMENT_CHARACTERS = 120

/** @param isDebug with the stacks of the error and of its causes */
export function describeFailure(error: unknown, isDebug: boolean): string {
  if (error instanceof StorerankError) return isDebug ? inspect(error) : error.message
  const advice = isDebug ? inspect(error) : 'LOG_LEVEL=debug shows where.'
  return (
    `storerank failed and did not expect to: ${String(error)}\n${describeCauses(error)}Please ` +
    `report this to its maintainers with the command you ran. ${advice}`
  )
}

/** One line each: what Postgres said of the error, and the causes below it. */
function describeCauses(error: unknown): string {
  const lines: string[] = []
  for (let cause = error; cause instanceof Error && lines.length < MOST_CAUSES; cause = cause.cause) {
    const facts = quotePostgres(cause)
    const said = [cause === error ? '' : `its cause: ${cause.message}`, facts].filter(Boolean).join('; ')
    if (said !== '') lines.push(`  ${said}\n`)
  }
  return lines.join('')
}

/** What Postgres said beside the message; empty when the error is not of Postgres. */
function quotePostgres(error: Error): string {
  // The two drivers name some of it differently.
  const facts = error as unknown as Partial<Record<string, string>>
  if (facts.severity === undefined || facts.code === undefined) return ''
  const named = {
    SQLSTATE: facts.code,
    table: facts.table_name ?? facts.table,
    column: facts.column_name ?? facts.column,
    constraint: facts.constraint_name ?? facts.constraint,
    detail: facts.detail,
    hint: facts.hint,
    where: facts.where?.replace(/\s+/g, ' '),
    statement: facts.query?.replace(/\s+/g, ' ').trim().slice(0, STATEMENT_CHARACTERS),
  }
  return Object.entries(named)
    .flatMap(([name, value]) => (value ? [`${name}: ${value}`] : []))
    .join('; ')
}
