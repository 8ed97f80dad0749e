/** What `storerank connect` does: psql on the database in use, or what any other client needs. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { CommandContext, Outcome } from './command.ts'
import { type DatabaseSession, writePassFile } from './database-session.ts'
import { verbatim } from './document.ts'
import { tell } from './tell.ts'

/** @param prints the command line of psql, instead of running it */
export async function connect(
  { embedded }: DatabaseSession,
  prints: boolean,
  context: CommandContext,
): Promise<Outcome> {
  const folder = await mkdtemp(join(tmpdir(), 'storerank-connect-'))
  try {
    const own = context.config.databaseUrl?.reveal() ?? ''
    const psqlUrl = embedded?.psqlUrl ?? (await withoutPassword(own, join(folder, 'pgpass')))
    if (prints || !context.stdout.isTTY) {
      if (embedded !== null)
        tell(context, 'The embedded database answers while another command runs, such as `storerank start`.')
      // A password file of ours is gone when this command ends.
      return { parts: [verbatim(`psql "${embedded === null ? hidePassword(own) : psqlUrl}"`)] }
    }
    const psql = spawn('psql', [psqlUrl], { stdio: 'inherit' })
    const [code] = await Promise.race([once(psql, 'close'), once(psql, 'error').then(() => [null])])
    if (code === null) await explain(embedded !== null, psqlUrl, context)
    return code ?? 0
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** The embedded server stops with its last command, so this one stays. */
async function explain(
  isEmbedded: boolean,
  psqlUrl: string,
  { stdout, signal }: CommandContext,
): Promise<void> {
  if (!isEmbedded) {
    stdout.write('psql is not installed; any client takes the address of DATABASE_URL.\n')
    return
  }
  const { hostname, port, username, pathname, searchParams } = new URL(psqlUrl)
  const server = `host ${hostname}, port ${port}, database ${pathname.slice(1)}, user ${username}`
  const password = `the password is the last word of ${searchParams.get('passfile')}`
  stdout.write(
    'psql is not installed. Any client connects while this command runs (Ctrl-C ends it):\n' +
      `  ${server}; ${password}\n`,
  )
  if (!signal.aborted) await once(signal, 'abort')
}

/** psql reads the password from a file, so that no list of processes shows it. A socket needs none. */
async function withoutPassword(url: string, file: string): Promise<string> {
  return URL.canParse(url) && new URL(url).password !== '' ? writePassFile(url, file) : url
}

function hidePassword(url: string): string {
  return url.replace(/(:\/\/[^\s"/?#@:]*):[^\s"/?#]*@/, '$1@')
}
