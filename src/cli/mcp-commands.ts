/**
 * Commands that an assistant may run: what each takes follows from its declaration, and the database is asked
 * as the role that the declaration names.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import type { Command, CommandContext, Offer, Parameter } from './command.ts'
import type { Output } from './document.ts'
import type { AssistantTool, Schema } from './mcp-tool.ts'
import { print } from './print.ts'

/** How a command prints is none of an assistant's. */
const OF_PRINTING = ['json', 'csv', 'expanded']

/**
 * @param url of the database, which is open for as long as they are called
 * @param allowsChanges whether those are offered that change watchlists
 */
export function listCommandTools(
  commands: readonly Command[],
  url: string,
  context: CommandContext,
  allowsChanges: boolean,
): AssistantTool[] {
  return commands.flatMap((command) =>
    (command.offers ?? [])
      .filter(({ changes }) => allowsChanges || !changes)
      .map((offer) => toTool(command, offer, url, context)),
  )
}

function toTool(command: Command, offer: Offer, url: string, context: CommandContext): AssistantTool {
  const parameters = Object.entries({ ...command.arguments, ...command.options }).filter(
    ([key]) => !OF_PRINTING.includes(key) && offer.fixed?.[key] === undefined && key !== offer.textOf,
  )
  const isNeeded = ({ form = '', isRequired }: Parameter<unknown>, key: string) =>
    isRequired === true || (form.startsWith('<') && command.arguments?.[key] !== undefined)
  const properties = Object.fromEntries(parameters.map(([key, each]) => [key, schemaOf(each)]))
  const ofFile = command.arguments?.[offer.textOf ?? '']?.help ?? ''
  const text: Schema = { type: 'string', description: `the text of such a file: ${ofFile}` }
  return {
    name: offer.name,
    description: `${offer.summary}.`,
    inputSchema: {
      type: 'object',
      properties: offer.textOf === undefined ? properties : { text, ...properties },
      required: [
        ...(offer.textOf === undefined ? [] : ['text']),
        ...parameters.filter(([key, each]) => isNeeded(each, key)).map(([key]) => key),
      ],
      additionalProperties: false,
    },
    run: (input) =>
      withText(offer, input, async (files) => {
        const given = Object.fromEntries(
          Object.entries({ ...command.arguments, ...command.options }).flatMap(([key, each]) => {
            const value = input[key] === undefined ? each.default : readValue(each, input[key])
            return value === undefined ? [] : [[key, value]]
          }),
        )
        return runCommand(
          command,
          { ...given, ...offer.fixed, ...files },
          {
            ...context,
            ...(offer.role === undefined ? {} : { person: { url, role: offer.role } }),
          },
        )
      }),
  }
}

function schemaOf({ form, help, isRepeated }: Parameter<unknown>): Schema {
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

/** What stands in files for a person is a text for an assistant, which has none here. */
async function withText(
  { textOf }: Offer,
  { text }: Readonly<Record<string, unknown>>,
  run: (files: object) => Promise<string>,
): Promise<string> {
  if (textOf === undefined) return run({})
  const folder = await mkdtemp(join(tmpdir(), 'storerank-mcp-'))
  try {
    const file = join(folder, 'text.csv')
    await writeFile(file, String(text), { mode: 0o600 })
    return await run({ [textOf]: [file] })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
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
  const quiet = { ...context, stdout: output, stderr: output, isTerminal: false }
  const outcome = await command.run(options, quiet)
  if (typeof outcome !== 'number') {
    await print(outcome, 'text', { stdout: output, pager: null })
    parts.push(...(outcome.warnings ?? []).map((sentence) => `${sentence}\n`))
  }
  return parts.join('')
}
