/** psql on the database in use, or what any other client needs. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { inTemporaryFolder } from '../../make-folder.ts'
import { type CommandContext, command, flag } from '../command.ts'
import { database, writePassFile } from '../database-session.ts'
import { verbatim } from '../document.ts'
import { tell } from '../tell.ts'

export const connect = command({
  group: 'Set up',
  summary: 'open psql on the database in use',
  options: { print: flag('print the command instead') },
  examples: ['storerank connect'],
  needs: database({ takesAnySchema: true, readsAnyState: true }),
  run: async ({ print }, context, { embedded }) => {
    const own = context.config.databaseUrl?.reveal() ?? ''
    if (print || !context.stdout.isTTY) {
      if (embedded !== null)
        tell(context, 'The embedded database answers while another command runs, such as `storerank start`.')
      // A password file of ours would be gone when this command ends.
      return { parts: [verbatim(`psql "${embedded?.psqlUrl ?? hidePassword(own)}"`)] }
    }
    return inTemporaryFolder('connect', async (folder) => {
      // psql reads the password from a file, so that no list of processes shows it. A socket needs none.
      const hasPassword = URL.canParse(own) && new URL(own).password !== ''
      const ownUrl = hasPassword ? await writePassFile(own, join(folder, 'pgpass')) : own
      const psql = spawn('psql', [embedded?.psqlUrl ?? ownUrl], { stdio: 'inherit' })
      const [code] = await Promise.race([once(psql, 'close'), once(psql, 'error').then(() => [null])])
      if (code === null) await explain(embedded?.psqlUrl ?? null, context)
      return code ?? 0
    })
  },
})

/** psql is not there. The embedded server stops with its last command, so this one stays. */
async function explain(embeddedUrl: string | null, { stdout, signal }: CommandContext): Promise<void> {
  if (embeddedUrl === null) {
    stdout.write('psql is not installed; any client takes the address of DATABASE_URL.\n')
    return
  }
  const { hostname, port, username, pathname, searchParams } = new URL(embeddedUrl)
  const server = `host ${hostname}, port ${port}, database ${pathname.slice(1)}, user ${username}`
  const password = `the password is the last word of ${searchParams.get('passfile')}`
  stdout.write(
    'psql is not installed. Any client connects while this command runs (Ctrl-C ends it):\n' +
      `  ${server}; ${password}\n`,
  )
  if (!signal.aborted) await once(signal, 'abort')
}

function hidePassword(url: string): string {
  return url.replace(/(:\/\/[^\s"/?#@:]*):[^\s"/?#]*@/, '$1@')
}
