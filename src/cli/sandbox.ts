/** `storerank sandbox`: the service on loopback, in the foreground, until Ctrl-C. */
import { once } from 'node:events'
import { startSandbox } from '../sandbox/server.ts'
import type { CommandContext, CommandOptions } from './main.ts'

export async function run(options: CommandOptions['sandbox'], context: CommandContext): Promise<number> {
  const { statePath, catalogPath, port, ...rest } = options
  const sandbox = await startSandbox({
    ...rest,
    ...(port === undefined ? {} : { port, strictPort: port !== 0 }),
    ...(statePath === undefined ? {} : { stateFile: statePath }),
    ...(catalogPath === undefined ? {} : { catalogFile: catalogPath }),
  })
  context.stdout.write(
    `The sandbox answers at ${sandbox.url}; its apps and ranks are invented. Ctrl-C ends it.\n` +
      `Use it with APP_DATA_URL=${sandbox.url} APP_DATA_LOGIN=${options.login} and its password.\n`,
  )
  if (!context.signal.aborted) await once(context.signal, 'abort')
  await sandbox.close()
  return 0
}
