/** `storerank sql "…"`: any SQL on the database in use, as a table, JSON or CSV. */
import type { Row as SqlRow } from 'postgres'
import type { CommandContext, CommandOptions } from './command.ts'
import { type Column, printCsv, printJson, printTable } from './print.ts'
import { openDatabaseSession } from './session.ts'

/** What the driver returns for one statement. */
interface Statement extends ReadonlyArray<SqlRow> {
  readonly columns?: readonly { readonly name: string }[]
  readonly command: string
  readonly count: number
}

export async function run(options: CommandOptions['sql'], context: CommandContext): Promise<number> {
  const session = await openDatabaseSession(context, { migrates: false })
  try {
    const pending = session.db.sql.unsafe(options.query).simple()
    context.signal.addEventListener('abort', () => pending.cancel(), { once: true })
    const result = (await pending) as unknown as Statement | Statement[]
    // Several statements come as an array of results, one as its rows.
    const statements = 'command' in result ? [result] : result
    for (const statement of statements) print(statement, options, context)
    return 0
  } catch (error) {
    context.stderr.write(`${explain(error)}\n`)
    return 1
  } finally {
    await session.close()
  }
}

function print(statement: Statement, options: CommandOptions['sql'], output: CommandContext): void {
  if (statement.columns === undefined || statement.columns.length === 0) {
    if (options.format === 'table') output.stdout.write(`${statement.command} ${statement.count}\n`)
    return
  }
  const columns: Column[] = statement.columns.map(({ name }) => ({ key: name }))
  if (options.format === 'json') printJson(statement, output)
  else if (options.format === 'csv') printCsv(statement, columns, output)
  else printTable(statement, columns, output)
}

/** Postgres says it best: message, detail, hint and constraint. */
function explain(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { detail, hint } = error as { detail?: string; hint?: string }
  return [`The database refused it: ${error.message}`, detail, hint].filter(Boolean).join('\n')
}
