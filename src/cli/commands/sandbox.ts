/** The service on loopback, in the foreground, until Ctrl-C. */
import { once } from 'node:events'
import { z } from 'zod'
import { ConfigurationError } from '../../errors.ts'
import { DEVIATION_NAMES, DEVIATIONS } from '../../sandbox/deviations.ts'
import { readEvents } from '../../sandbox/events.ts'
import { parseFaults } from '../../sandbox/faults.ts'
import { startSandbox } from '../../sandbox/server.ts'
import { whyNot } from '../../trouble.ts'
import { command, flag, type Given, option, repeated, usually } from '../command.ts'
import { EXIT } from '../failure.ts'
import { oneOf, wholeNumber } from '../option-values.ts'

const WAYS = Object.entries(DEVIATIONS).map(([name, sentence]) => `  ${name.padEnd(19)} ${sentence}`)

const options = {
  port: option('<number>', 'port to listen on', wholeNumber(0, 65_535)),
  login: usually('sandbox', option('<login>', 'login of the account')),
  password: usually('sandbox', option('<password>', 'password of the account')),
  readyMs: option('<number>', 'how long a task takes, in milliseconds', wholeNumber(0, 86_400_000)),
  seed: option('<number>', 'the same seed gives the same rankings', wholeNumber(0, 2 ** 31 - 1)),
  state: option('<file>', 'file that keeps the state across restarts (default: in memory only)'),
  catalog: option('<file>', 'CSV of real apps to rank beside the invented ones'),
  events: option('<file>', 'JSON of what happens to apps and when: launches, releases, climbs and falls'),
  faults: option('<faults>', 'trouble by kind and rate: http500=0.05,slow=0.1, all=0.05, or JSON'),
  asSold: flag('be the service as it is sold, where that differs from its specification'),
  deviation: repeated(
    option('<name>', 'be so in one way, of those below (repeatable)', oneOf('deviation', DEVIATION_NAMES)),
  ),
}

export const sandbox = command({
  group: 'The service',
  summary: 'serve the App Data Service on loopback with invented data, until SIGTERM or Ctrl-C',
  options,
  examples: ['storerank sandbox --port 8080 --ready-ms 500'],
  notes: `Deviations:\n${WAYS.join('\n')}`,
  run: async (given, { stdout, signal }) => {
    const { url, close } = await openSandbox(given)
    stdout.write(
      `The sandbox answers at ${url}; its apps and ranks are invented. Ctrl-C ends it.\n` +
        `Use it with APP_DATA_URL=${url} APP_DATA_LOGIN=${given.login} and APP_DATA_PASSWORD.\n`,
    )
    if (!signal.aborted) await once(signal, 'abort')
    await close()
    return EXIT.done
  },
})

/** What goes wrong at the start is an option: a port in use, an unreadable file, an empty login. */
async function openSandbox({
  state,
  catalog,
  events,
  faults,
  port,
  deviation,
  ...rest
}: Given<typeof options>) {
  try {
    return await startSandbox({
      ...rest,
      port,
      strictPort: Boolean(port),
      stateFile: state,
      catalogFile: catalog,
      events: events === undefined ? [] : readOption('--events', () => readEvents(events)),
      deviations: [...deviation],
      faults: faults === undefined ? {} : readOption('--faults', () => parseFaults(faults)),
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
