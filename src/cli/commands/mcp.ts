/**
 * Answers an assistant by the Model Context Protocol. It reads as storerank_reader, within bounds of rows and
 * time. What changes watchlists is offered only where a person allows it, and done as storerank_editor.
 * Nothing here buys anything: that is the runners', within the budgets.
 */
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import packageJson from '../../../package.json' with { type: 'json' }
import { openDatabase, type SqlRunner } from '../../db/database.ts'
import { ConfigurationError } from '../../errors.ts'
import { redactSecrets, toPrintable } from '../../log.ts'
import { inTemporaryFolder } from '../../make-folder.ts'
import { describeTrouble } from '../../trouble.ts'
import { type Command, type CommandContext, command, flag, type Offer, type Parameter } from '../command.ts'
import { database } from '../database-session.ts'
import type { Output } from '../document.ts'
import { print } from '../print.ts'
import { loadCommands } from '../program.ts'
import { type AssistantTool, findNamed, readQueryTools, tool } from '../questions.ts'
import { tell } from '../tell.ts'

const INSTRUCTIONS =
  'storerank measures at which rank apps stand in app stores for keywords and charts, on a schedule and ' +
  'within budgets. Begin with read_view of project. Days are those of the project. What was not measured ' +
  'is null or a gap, never a loss. forecast and import_trial say what a change of the watchlist would cost.'
/** How a command prints is none of an assistant's. */
const OF_PRINTING = ['json', 'csv', 'expanded']

export const mcp = command({
  group: 'Look',
  summary: 'answer an assistant by the Model Context Protocol, on stdin and stdout',
  options: { allowChanges: flag('let it change watchlists too, as storerank_editor') },
  examples: ['storerank mcp'],
  needs: database(),
  run: async ({ allowChanges }, context, { db }) => {
    await requireRoles(db.sql)
    const role = 'storerank_reader'
    const reader = openDatabase(db.url, { name: 'storerank mcp', maxConnections: 2, role })
    try {
      const ofCommands = (await loadCommands()).flatMap((each) =>
        (each.offers ?? [])
          .filter(({ changes }) => allowChanges || !changes)
          .map((offer) => toTool(each, offer, db.url, context)),
      )
      await serve([...(await readQueryTools(db, reader)), ...ofCommands], context)
    } finally {
      await reader.close()
    }
    return 0
  },
})

async function requireRoles(sql: SqlRunner): Promise<void> {
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

async function call(tools: readonly AssistantTool[], name: string, input: Record<string, unknown>) {
  const { inputSchema, run } = findNamed(tools, name, 'Tools', 'There is no tool')
  const { properties, required } = inputSchema
  const missing = required.filter((key) => input[key] === undefined)
  if (missing.length > 0) throw new ConfigurationError(`${name} needs ${missing.join(', ')}.`)
  const strange = Object.keys(input).find((key) => !(key in properties))
  if (strange !== undefined)
    throw new ConfigurationError(`${name} takes ${Object.keys(properties).join(', ')}, and no ${strange}.`)
  return run(input)
}

/** What Postgres says of a question is about the question. */
function explain(error: unknown): string {
  const { message, detail, hint } = (describeTrouble(error) ?? error) as Error &
    Record<'detail' | 'hint', string>
  return toPrintable(redactSecrets([message, detail, hint].filter(Boolean).join('\n')))
}

/** What a tool takes follows from the declaration of its command; it asks the database as its role. */
function toTool(command: Command, offer: Offer, url: string, context: CommandContext): AssistantTool {
  const { textOf, fixed = {}, role } = offer
  const all = Object.entries({ ...command.arguments, ...command.options })
  const chosen = all.filter(([key]) => !OF_PRINTING.includes(key) && !(key in fixed) && key !== textOf)
  const isNeeded = ([key, { form = '', isRequired }]: [string, Parameter<unknown>]) =>
    isRequired === true || (form.startsWith('<') && command.arguments?.[key] !== undefined)
  const ofFile = command.arguments?.[textOf ?? '']?.help ?? ''
  const text = { type: 'string', description: `the text of such a file: ${ofFile}` }
  const own = role === undefined ? context : { ...context, person: { url, role } }
  const properties = {
    ...(textOf !== undefined && { text }),
    ...Object.fromEntries(chosen.map(([key, each]) => [key, schemaOf(each)])),
  }
  const needed = [...(textOf === undefined ? [] : ['text']), ...chosen.filter(isNeeded).map(([key]) => key)]
  return tool(offer.name, `${offer.summary}.`, properties, needed, async (input) => {
    const given = Object.fromEntries(
      all.flatMap(([key, each]) => {
        const value = input[key] === undefined ? each.default : readValue(each, input[key])
        return value === undefined ? [] : [[key, value]]
      }),
    )
    const options = { ...given, ...fixed }
    if (textOf === undefined) return runCommand(command, options, own)
    // What stands in files for a person is a text for an assistant, which has none here.
    return inTemporaryFolder('mcp', async (folder) => {
      const file = join(folder, 'text.csv')
      await writeFile(file, String(input.text), { mode: 0o600 })
      return runCommand(command, { ...options, [textOf]: [file] }, own)
    })
  })
}

function schemaOf({ form, help, isRepeated }: Parameter<unknown>) {
  if (form === undefined) return { type: 'boolean', description: help }
  if (isRepeated) return { type: 'array', items: { type: 'string' }, description: help }
  return { type: 'string', description: help }
}

function readValue(
  { form, parse = (text) => text, isRepeated }: Parameter<unknown>,
  value: unknown,
): unknown {
  if (form === undefined) return value === true
  return isRepeated && Array.isArray(value) ? value.map((each) => parse(String(each))) : parse(String(value))
}

/** @returns all that it would have printed */
async function runCommand(command: Command, options: object, context: CommandContext): Promise<string> {
  const parts: string[] = []
  const output: Output = new Writable({
    decodeStrings: false,
    write: (part: string, _encoding, done) => {
      parts.push(part)
      done()
    },
  })
  const outcome = await command.run(options, {
    ...context,
    stdout: output,
    stderr: output,
    isTerminal: false,
  })
  if (typeof outcome !== 'number') {
    await print(outcome, 'text', { stdout: output, pager: null })
    parts.push(...(outcome.warnings ?? []).map((sentence) => `${sentence}\n`))
  }
  return parts.join('')
}
