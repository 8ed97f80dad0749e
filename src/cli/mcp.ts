/**
 * What `storerank mcp` does: it answers an assistant by the Model Context Protocol on stdin and stdout. The
 * assistant reads as storerank_reader, within bounds of rows and time. What changes watchlists is offered
 * only where a person allows it, and done as storerank_editor. Nothing here buys anything: that is the
 * runners', within the budgets.
 */
import { once } from 'node:events'
import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import packageJson from '../../package.json' with { type: 'json' }
import { openDatabase } from '../db/database.ts'
import { ConfigurationError } from '../errors.ts'
import { redactSecrets, toPrintable } from '../log.ts'
import { nameKnown } from '../suggest.ts'
import { describeTrouble } from '../trouble.ts'
import type { CommandContext } from './command.ts'
import type { DatabaseSession } from './database-session.ts'
import { loadCommands } from './main.ts'
import { listCommandTools } from './mcp-commands.ts'
import { readQueryTools } from './mcp-queries.ts'
import type { AssistantTool } from './mcp-tool.ts'
import { tell } from './tell.ts'

const INSTRUCTIONS =
  'storerank measures at which rank apps stand in app stores for keywords and charts, on a schedule and ' +
  'within budgets. Begin with read_view of project. Days are those of the project. What was not measured ' +
  'is null or a gap, never a loss. forecast and import_trial say what a change of the watchlist would cost.'

export async function serveAssistant(
  { db }: DatabaseSession,
  allowsChanges: boolean,
  context: CommandContext,
): Promise<number> {
  await requireRoles(db.sql)
  const reader = openDatabase(db.url, { name: 'storerank mcp', maxConnections: 2, role: 'storerank_reader' })
  try {
    const tools = [
      ...(await readQueryTools(db, reader)),
      ...listCommandTools(await loadCommands(), db.url, context, allowsChanges),
    ]
    await serve(tools, context)
  } finally {
    await reader.close()
  }
  return 0
}

async function requireRoles(sql: DatabaseSession['db']['sql']): Promise<void> {
  const [row] = await sql<{ login: string; may: boolean }[]>`
    select current_user as login, bool_and(coalesce(pg_has_role(to_regrole(name), 'member'), false)) as may
    from unnest('{storerank_reader,storerank_editor}'::text[]) name`
  if (row?.may) return
  throw new ConfigurationError(
    `An assistant reads as storerank_reader and writes as storerank_editor, and ${row?.login} may not ` +
      `become them. A role that may runs: grant storerank_reader, storerank_editor to ${row?.login};`,
  )
}

async function serve(tools: readonly AssistantTool[], context: CommandContext): Promise<void> {
  const capabilities = { tools: {} }
  const { version } = packageJson
  const server = new Server({ name: 'storerank', version }, { capabilities, instructions: INSTRUCTIONS })
  server.setRequestHandler(ListToolsRequestSchema, async () => ({
    tools: tools.map(({ run: _, ...tool }) => tool),
  }))
  server.setRequestHandler(CallToolRequestSchema, async ({ params: { name, arguments: input = {} } }) => {
    try {
      return { content: [{ type: 'text', text: toPrintable(await call(tools, name, input)) }] }
    } catch (error) {
      return { content: [{ type: 'text', text: explain(error) }], isError: true }
    }
  })
  const closed = new Promise<void>((done) => {
    server.onclose = done
    process.stdin.once('end', done)
  })
  await server.connect(new StdioServerTransport())
  tell(context, `Answering an assistant on stdin and stdout, with ${tools.length} tools.`)
  await Promise.race([closed, context.signal.aborted || once(context.signal, 'abort')])
  await server.close()
}

function call(
  tools: readonly AssistantTool[],
  name: string,
  input: Record<string, unknown>,
): Promise<string> {
  const tool = tools.find((each) => each.name === name)
  const names = tools.map((each) => each.name)
  if (tool === undefined)
    throw new ConfigurationError(
      `There is no tool ${JSON.stringify(name)}.${nameKnown(name, 'Tools', names)}`,
    )
  const { properties = {}, required = [] } = tool.inputSchema as { properties?: object; required?: string[] }
  const missing = required.filter((key) => input[key] === undefined)
  if (missing.length > 0) throw new ConfigurationError(`${name} needs ${missing.join(', ')}.`)
  const strange = Object.keys(input).filter((key) => !(key in properties))
  if (strange.length > 0)
    throw new ConfigurationError(`${name} takes ${Object.keys(properties).join(', ')}, and no ${strange[0]}.`)
  return tool.run(input)
}

/** What Postgres says of a question is about the question. */
function explain(error: unknown): string {
  const { message, detail, hint } = (describeTrouble(error) ?? error) as Error &
    Record<'detail' | 'hint', string>
  return toPrintable(redactSecrets([message, detail, hint].filter(Boolean).join('\n')))
}
