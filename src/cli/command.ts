/**
 * What a command is. All that is known of one stands in the file of its name in commands/: the program, its
 * help, the types of its options and the table of docs/operations.md follow.
 */
import type { Config } from '../config.ts'
import type { PersonRole } from '../db/database.ts'
import type { Logger } from '../log.ts'
import type { Document, Output } from './document.ts'

/** An option or an argument, and what its text becomes. */
export interface Parameter<Value> {
  /** What stands for its value in the help: `<file>`. An option without one is a flag. */
  readonly form?: string
  readonly help: string
  /** @throws InvalidArgumentError with what it must be */
  readonly parse?: ((text: string) => unknown) | undefined
  readonly default?: Value
  /** The long name follows from the key: `--from-app` of `fromApp`. */
  readonly short?: string
  /** May be given several times. */
  readonly isRepeated?: boolean
  readonly isRequired?: true
  /** Keys of options that cannot stand beside it. */
  readonly conflicts?: readonly string[]
}

/** An option without a value: true when it is given. */
export function flag(
  help: string,
  more: Pick<Parameter<never>, 'short' | 'conflicts'> = {},
): Parameter<boolean> {
  return { help, default: false, ...more }
}

/** An option that is undefined unless it is given. */
export function option(form: string, help: string): Parameter<string | undefined>
export function option<Value>(
  form: string,
  help: string,
  parse: (text: string) => Value,
): Parameter<Value | undefined>
export function option(form: string, help: string, parse?: (text: string) => unknown): Parameter<unknown> {
  return { form, help, parse }
}

/** The same with a value where it is not given. */
export function usually<Value>(
  value: Value,
  parameter: Parameter<NoInfer<Value> | undefined>,
): Parameter<Value> {
  return { ...parameter, default: value } as Parameter<Value>
}

/** The same that has to be given. */
export function required<Value>(parameter: Parameter<Value | undefined>): Parameter<Value> {
  return { ...parameter, isRequired: true } as Parameter<Value>
}

/** An option that may be given several times; its values are a list. */
export function repeated<Value>(parameter: Parameter<Value | undefined>): Parameter<readonly Value[]> {
  return { ...parameter, isRepeated: true, default: [] } as Parameter<readonly Value[]>
}

type ValueOfForm<Form, Value> = Form extends `${string}...${string}`
  ? readonly Value[]
  : Form extends `<${string}`
    ? Value
    : Value | undefined

/** `<file>`, `[file]` where it may be left out, `<file...>` or `[file...]` where there may be several. */
export function argument<Form extends string>(form: Form, help: string): Parameter<ValueOfForm<Form, string>>
export function argument<Form extends string, Value>(
  form: Form,
  help: string,
  parse: (text: string) => Value,
): Parameter<ValueOfForm<Form, Value>>
export function argument(form: string, help: string, parse?: (text: string) => unknown): Parameter<unknown> {
  return { form, help, parse, ...(form.includes('...') && { isRepeated: true, default: [] }) }
}

/** By their keys, in the order of the help. */
type Parameters = Readonly<Record<string, Parameter<unknown>>>
type ValueOf<P> = P extends Parameter<infer Value> ? Value : never

/** What a command gets of its options and arguments; what may be left out is then missing. */
export type Given<P> = {
  readonly [Key in keyof P as undefined extends ValueOf<P[Key]> ? never : Key]: ValueOf<P[Key]>
} & {
  readonly [Key in keyof P as undefined extends ValueOf<P[Key]> ? Key : never]?: NonNullable<ValueOf<P[Key]>>
}

/** Where a command stands in the help and in docs/operations.md. */
export const COMMAND_GROUPS = ['Measure', 'Watch', 'Look', 'Keep', 'Set up', 'The service'] as const

/** What a command works with, opened before it runs and closed after it: `database` or `service`. */
export type Need<Session> = <Result>(
  context: CommandContext,
  work: (session: Session) => Promise<Result>,
) => Promise<Result>

/** A tool of an assistant that runs a command: `storerank mcp`. */
export interface Offer {
  readonly name: string
  readonly summary: string
  /** As whom it asks the database; without, what only reads asks as the login of DATABASE_URL. */
  readonly role?: PersonRole
  /** It changes watchlists, and is there only where a person allows that. */
  readonly changes?: true
  /** Options that an assistant does not choose. */
  readonly fixed?: Readonly<Record<string, unknown>>
  /** The argument that names files, of which an assistant gives the text. */
  readonly textOf?: string
}

interface Declaration<O, A, Session> {
  /** Left out of a command within another. */
  readonly group?: (typeof COMMAND_GROUPS)[number]
  /** What it does, in a sentence without its end. */
  readonly summary: string
  readonly options?: O
  readonly arguments?: A
  /** As a person would type it. */
  readonly examples: readonly string[]
  /** What the help says behind the options. */
  readonly notes?: string
  /** Commands within it, by their names: `storerank alerts test`. */
  readonly commands?: Readonly<Record<string, Declared>>
  readonly offers?: readonly Offer[]
  /** Default: nothing, or what it opens itself, because something has to be done or refused before. */
  readonly needs?: Need<Session>
  /** Does it. Its options `json`, `csv` and `expanded` say how the document is printed. */
  run(options: Given<O> & Given<A>, context: CommandContext, session: Session): Promise<Outcome>
}

/** The exit code, or what is printed at the end. */
export type Outcome = number | Document

/** A declaration whose types of options only it knows, and what it needs. */
export interface Declared extends Omit<Declaration<Parameters, Parameters, never>, 'run' | 'needs'> {
  run(options: object, context: CommandContext): Promise<Outcome>
}

/** With the name of its file, or that within another. */
export interface Command extends Declared {
  readonly name: string
}

/** The commands within a command. */
export function innerCommands({ commands = {} }: Command): Command[] {
  return Object.entries(commands).map(([name, inner]) => ({ ...inner, name }))
}

/** Declares a command. */
export function command<
  O extends Parameters = Record<never, never>,
  A extends Parameters = Record<never, never>,
  Session = undefined,
>({ needs, run, ...declaration }: Declaration<O, A, Session>): Declared {
  const runWith = run as (options: object, context: CommandContext, session?: Session) => Promise<Outcome>
  if (needs === undefined) return { ...declaration, run: runWith }
  return {
    ...declaration,
    run: (options, context) => needs(context, (session) => runWith(options, context, session)),
  }
}

export interface CommandContext {
  readonly config: Config
  readonly log: Logger
  readonly stdout: Output
  readonly stderr: Output
  /** Whether stderr is a terminal: it gets progress and readable log lines there, JSON lines otherwise. */
  readonly isTerminal: boolean
  /** Aborted at the first SIGINT or SIGTERM: take no new work, finish what is in flight, return. */
  readonly signal: AbortSignal
  /** As whom it asks which database; without: as the login of DATABASE_URL. */
  readonly person?: { readonly url: string; readonly role: PersonRole }
}
