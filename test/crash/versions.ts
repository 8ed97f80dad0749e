/** Versions that meet on one database: many bring it up to date at once, and one is too old for it. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import type postgres from 'postgres'
import type { Runner } from './runners.ts'

const HOOK = fileURLToPath(new URL('./load-hook.ts', import.meta.url))
const MIGRATE = fileURLToPath(new URL('./migrate.ts', import.meta.url))

/** @throws Error unless one of the processes migrated the empty database, and the others found that done */
export async function migrateByMany(databaseUrl: string, processes: number): Promise<void> {
  const { PATH = '', NODE_COMPILE_CACHE = '' } = process.env
  const env = { PATH, NODE_COMPILE_CACHE, DATABASE_URL: databaseUrl }
  const said = await Promise.all(
    Array.from({ length: processes }, async () => {
      const child = spawn(process.execPath, ['--import', HOOK, MIGRATE], {
        env,
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      const [stdout] = await Promise.all([text(child.stdout), once(child, 'close')])
      return child.exitCode === 0 ? stdout : `exit code ${child.exitCode}`
    }),
  )
  const idle = said.filter((changed) => changed === 'false').length
  if (idle !== processes - 1 || !said.includes('true')) {
    throw new Error(`Of ${processes} migrating processes not one did it all: ${said.join(', ')}.`)
  }
}

/** @throws Error unless a runner that knows an earlier schema ends before it does anything */
export async function refuseOlderRunner(sql: postgres.Sql, start: () => Runner): Promise<void> {
  await sql`
    insert into drizzle.__drizzle_migrations (hash, created_at)
    select 'of a newer version', max(created_at) + 1 from drizzle.__drizzle_migrations`
  const runner = start()
  const isReady = await runner.ready
  runner.signal('SIGKILL')
  await runner.ended
  if (isReady) throw new Error('A runner began to work on the schema of a newer version.')
}
