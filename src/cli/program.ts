/** The commands, found by their files in commands/, and the program of commander that follows from them. */
import { readdirSync } from 'node:fs'
import { basename, extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Command as CommanderCommand, Option } from 'commander'
import packageJson from '../../package.json' with { type: 'json' }
import { ConfigurationError } from '../errors.ts'
import { COMMAND_GROUPS, type Command, innerCommands, type Parameter } from './command.ts'
import type { Output } from './document.ts'

/** Runs a command with what it was given. */
type Invoke = (command: Command, options: object) => Promise<void>

const COMMANDS = new URL('commands/', import.meta.url)
/** Of this file: `.ts` in a checkout, `.js` in a package. */
const SUFFIX = extname(import.meta.filename)

/** The names of all commands, without loading any. */
export function listCommands(): string[] {
  return readdirSync(fileURLToPath(COMMANDS))
    .filter((file) => file.endsWith(SUFFIX) && !file.endsWith(`.d${SUFFIX}`))
    .map((file) => basename(file, SUFFIX))
    .sort()
}

/** Every command, or those of the names. A file exports it by its name; a keyword is no name. */
export function loadCommands(names: readonly string[] = listCommands()): Promise<Command[]> {
  return Promise.all(
    names.map(async (name) => {
      const exported = await import(new URL(name + SUFFIX, COMMANDS).href)
      return { ...(exported[name] ?? exported[`${name}Command`]), name }
    }),
  )
}

export function buildProgram(
  commands: readonly Command[],
  { stdout, stderr }: { readonly stdout: Output; readonly stderr: Output },
  invoke: Invoke,
): CommanderCommand {
  const program = new CommanderCommand('storerank')
    .description('Keyword ranks of mobile apps, measured on a schedule and kept in Postgres.')
    .version(packageJson.version)
    .option('--settings <file>', 'read settings from it instead of .env; the environment wins', onlyOnce)
    .addOption(new Option('--env-file <file>').hideHelp().argParser(refuseOptionOfNode))
    .exitOverride()
    .configureOutput({
      writeOut: (text) => stdout.write(text),
      writeErr: (text) => stderr.write(text),
      getOutHelpWidth: () => stdout.columns || 80,
      getErrHelpWidth: () => stderr.columns || 80,
    })
    .showHelpAfterError('(--help shows what there is.)')
    .addHelpText('after', describeExample('storerank run'))
    .addHelpText('after', OUTLINE)
  for (const group of COMMAND_GROUPS)
    for (const command of commands.filter((each) => each.group === group)) add(program, command, invoke)
  return program
}

const OUTLINE =
  '\nExit codes: 0 done, 1 failed, 2 usage or configuration, 3 the account pays for nothing of what is ' +
  'due, ' +
  '75 another runner has it.\n' +
  'Settings come from the environment and from .env of the working folder; `storerank init` writes one ' +
  'with all of them. A name that begins with a dash stands behind --: `storerank import -- -list.csv`.'

function onlyOnce(file: string, before: string | undefined): string {
  if (before === undefined) return file
  throw new ConfigurationError(`--settings is given twice, with ${before} and ${file}: name one file.`)
}

/** Node looks for it behind the name of the program too, and empties a pipe before storerank can read it. */
function refuseOptionOfNode(): never {
  throw new ConfigurationError(
    '--env-file is an option of Node itself, which reads the file first: name the settings with ' +
      '--settings FILE.',
  )
}

function add(parent: CommanderCommand, command: Command, invoke: Invoke): void {
  const built = parent.command(command.name).description(command.summary)
  if (command.group !== undefined) built.helpGroup(`${command.group}:`)
  const options = Object.entries(command.options ?? {})
  const args = Object.entries(command.arguments ?? {})
  for (const [, { form = '', help, ...parameter }] of args) built.argument(form, help, collect(parameter))
  for (const [key, parameter] of options) built.addOption(toOption(key, parameter))
  for (const inner of innerCommands(command)) add(built, inner, invoke)
  if (command.notes !== undefined) built.addHelpText('after', `\n${command.notes}`)
  for (const example of command.examples) built.addHelpText('after', describeExample(example))
  built.action(async () => {
    const given: Record<string, unknown> = { ...built.opts(), ...takeFromParent(parent, command) }
    for (const [index, [key]] of args.entries()) given[key] = built.processedArgs[index]
    for (const [key, { default: usual }] of [...options, ...args]) given[key] ??= usual
    await invoke(
      command,
      Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)),
    )
  })
}

/**
 * Of `alerts retry --days 3`, commander gives the option to `alerts`, which has one of that name too.
 * @throws ConfigurationError for an option that the command within does not know
 */
function takeFromParent(parent: CommanderCommand, { name, options = {} }: Command): Record<string, unknown> {
  if (parent.parent === null) return {}
  const given = parent.options.filter((each) => parent.getOptionValueSource(each.attributeName()) === 'cli')
  const stranger = given.find((each) => !(each.attributeName() in options))
  if (stranger !== undefined)
    throw new ConfigurationError(
      `${stranger.long} is of ${parent.name()}, and not of ${parent.name()} ${name}.`,
    )
  const keys = given.map((each) => each.attributeName())
  return Object.fromEntries(keys.map((key) => [key, parent.getOptionValue(key)]))
}

function toOption(key: string, parameter: Parameter<unknown>): Option {
  const { form, help, short, default: usual, isRequired = false, conflicts = [] } = parameter
  const name = short === undefined ? toFlag(key) : `-${short}, ${toFlag(key)}`
  const option = new Option(form === undefined ? name : `${name} ${form}`, help)
  if (typeof usual === 'string' || typeof usual === 'number') option.default(usual)
  if (form !== undefined) option.argParser(collect(parameter))
  return option.makeOptionMandatory(isRequired).conflicts([...conflicts])
}

/** `--from-app` of `fromApp`. */
function toFlag(key: string): string {
  return `--${key.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
}

/** Reads a value, behind those that were given before where there may be several. */
function collect({ parse = (text) => text, isRepeated }: Omit<Parameter<unknown>, 'help'>) {
  return (text: string, before: unknown): unknown =>
    isRepeated ? [...((before as unknown[]) ?? []), parse(text)] : parse(text)
}

function describeExample(example: string): string {
  return `\nExample:\n  $ ${example}`
}
