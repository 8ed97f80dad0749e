/** What `storerank sandbox` does: the service on loopback, in the foreground, until Ctrl-C. */
import { once } from 'node:events'
import { z } from 'zod'
import { ConfigurationError } from '../errors.ts'
import type { Deviation } from '../sandbox/deviations.ts'
import { readEvents } from '../sandbox/events.ts'
import { parseFaults } from '../sandbox/faults.ts'
import { type Sandbox, startSandbox } from '../sandbox/server.ts'
import { whyNot } from '../trouble.ts'
import type { CommandContext } from './command.ts'

/** Names of files, and what the sandbox itself takes. */
interface SandboxOptions {
  readonly login: string
  readonly password: string
  readonly port?: number
  readonly readyMs?: number
  readonly seed?: number
  readonly state?: string
  readonly catalog?: string
  readonly events?: string
  readonly faults?: string
  readonly asSold: boolean
  readonly deviation: readonly Deviation[]
}

export async function serveSandbox(
  options: SandboxOptions,
  { stdout, signal }: CommandContext,
): Promise<number> {
  const sandbox = await openSandbox(options)
  stdout.write(
    `The sandbox answers at ${sandbox.url}; its apps and ranks are invented. Ctrl-C ends it.\n` +
      `Use it with APP_DATA_URL=${sandbox.url} APP_DATA_LOGIN=${options.login} and APP_DATA_PASSWORD.\n`,
  )
  if (!signal.aborted) await once(signal, 'abort')
  await sandbox.close()
  return 0
}

/** What goes wrong at the start is an option: a port in use, an unreadable file, an empty login. */
async function openSandbox(options: SandboxOptions): Promise<Sandbox> {
  const { state, catalog, events, faults, port, deviation, ...rest } = options
  try {
    return await startSandbox({
      ...rest,
      ...(port === undefined ? {} : { port, strictPort: port !== 0 }),
      ...(state === undefined ? {} : { stateFile: state }),
      ...(catalog === undefined ? {} : { catalogFile: catalog }),
      ...(events === undefined ? {} : { events: readOption('--events', () => readEvents(events)) }),
      deviations: [...deviation],
      ...(faults === undefined ? {} : { faults: readOption('--faults', () => parseFaults(faults)) }),
    })
  } catch (error) {
    throw new ConfigurationError(`The sandbox cannot start: ${explain(error, port)}`, { cause: error })
  }
}

/** What an option means, or why it means nothing. */
function readOption<T>(name: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    const why = error instanceof z.ZodError ? listIssues(error, ' ') : explain(error, undefined)
    throw new Error(`${name}: ${why}`, { cause: error })
  }
}

function explain(error: unknown, port: number | undefined): string {
  if (error instanceof z.ZodError) return listIssues(error, '--')
  const { code, path, syscall } = error as NodeJS.ErrnoException
  if (code === 'EADDRINUSE') return `the port ${port} is in use. Choose another, or --port 0 for a free one.`
  if (error instanceof SyntaxError) return `it is no JSON: ${error.message}.`
  if (syscall === undefined) return error instanceof Error ? error.message : String(error)
  return `${path ?? `the port ${port}`}: ${whyNot(error)}.`
}

function listIssues({ issues }: z.ZodError, sign: string): string {
  const texts = issues.map(
    ({ path, message }) => (sign + path.join('.')).trim() + (path.length ? ': ' : '') + message,
  )
  return `${texts.join('; ')}.`
}
