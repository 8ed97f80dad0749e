/** What a person is told of an error that ended a command. */
import { inspect } from 'node:util'
import { StorerankError } from '../errors.ts'

const MOST_CAUSES = 5
const STATEMENT_CHARACTERS = 120

/** What Postgres says beside its message. The two drivers name some of it differently. */
interface PostgresFacts {
  readonly code?: string
  readonly severity?: string
  readonly detail?: string
  readonly hint?: string
  readonly where?: string
  readonly table_name?: string
  readonly table?: string
  readonly column_name?: string
  readonly column?: string
  readonly constraint_name?: string
  readonly constraint?: string
  /** The statement. */
  readonly query?: string
}

/** @param isDebug with the stacks of the error and of its causes */
export function describeFailure(error: unknown, isDebug: boolean): string {
  if (error instanceof StorerankError) {
    return isDebug ? inspect(error) : error.message
  }
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
  const facts = error as PostgresFacts
  if (facts.severity === undefined || facts.code === undefined) return ''
  const statement = facts.query?.replace(/\s+/g, ' ').trim().slice(0, STATEMENT_CHARACTERS)
  const named = {
    SQLSTATE: facts.code,
    table: facts.table_name ?? facts.table,
    column: facts.column_name ?? facts.column,
    constraint: facts.constraint_name ?? facts.constraint,
    detail: facts.detail,
    hint: facts.hint,
    where: facts.where?.replace(/\s+/g, ' '),
    statement,
  }
  return Object.entries(named)
    .flatMap(([name, value]) => (value ? [`${name}: ${value}`] : []))
    .join('; ')
}
