/**
 * The process of `storerank start` beside a PostgreSQL that ends its sessions, crashes, and has no room left.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pino } from 'pino'
import { openDatabase } from '../../src/db/database.ts'
import { enqueueRun } from '../../src/queue/job.ts'
import { openQueue } from '../../src/queue/queue.ts'
import { startSandbox } from '../../src/sandbox/server.ts'
import { startPostgres } from '../crash/servers.ts'
import { startCommand } from '../support/command.ts'
import { settingsOf } from '../support/sandbox-process.ts'
import { until } from '../support/world.ts'

const AWAY = 'the database is away; the work goes on when it is back'
const BACK = 'the database is back'

test('start says one sentence of each loss of its database, and goes on when it is back', async (t) => {
  const server = await startPostgres()
  t.after(() => server.stop())
  const sandbox = await startSandbox({ readyMs: 0 })
  t.after(() => sandbox.close())
  const runner = startCommand(t, ['start'], { env: settingsOf(server.url, sandbox.url) })
  const db = openDatabase(server.url, { name: 'test' })
  t.after(() => db.close())
  await runner.says('job scheduled')
  const queue = await openQueue(server.url, pino({ level: 'silent' }))
  t.after(() => queue.stop(0))

  const enqueue = () => enqueueRun(db, queue, 'collect', new Date(), true)
  const isCollected = async () => {
    const [row] = await db.sql<{ open: number }[]>`
      select count(*) filter (where state in ('waiting', 'running')) as open from job_run
        where job = 'collect'`
    return row?.open === 0
  }
  const said = () =>
    runner
      .stderr()
      .split('\n')
      .filter((line) => line.includes(AWAY) || line.includes(BACK)).length
  /** Each loss is said twice: when it comes, and when it is over. */
  const lose = async (blow: () => Promise<unknown>, mend: () => Promise<unknown> = async () => {}) => {
    const before = said()
    await until('nothing is collected', isCollected)
    await blow()
    await until('start says that the database is away', async () => said() === before + 1)
    await mend()
    await until('start says that it is back', async () => said() === before + 2)
    await enqueue()
    await until('start works again', isCollected)
  }

  await lose(
    () => db.sql`select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'storerank'
      or application_name = 'storerank queue'`,
  )
  await lose(() => server.restart('immediate'))
  await lose(
    async () => {
      await db.sql.unsafe(`
        create function full_disk() returns trigger language plpgsql as $$ begin
          if current_setting('application_name') = 'storerank' then
            raise exception 'could not extend file "base/5/16384": No space left on device'
              using errcode = '53100';
          end if;
          return new;
        end $$;
        create trigger full_disk before insert or update on job_run
          for each row execute function full_disk()`)
      await enqueue()
    },
    () => db.sql.unsafe('drop function full_disk cascade'),
  )

  const troubles = runner
    .stderr()
    .split('\n')
    .filter((line) => /"level":"(warn|error)"|^(?!\{)./.test(line))
    .map((line) => JSON.parse(line) as { msg: string; reason: string })
  assert.deepEqual(
    troubles.map(({ msg }) => msg),
    // The note is of an account that is used for the first time.
    ['please note', AWAY, AWAY, AWAY],
  )
  assert.match(troubles.at(-1)?.reason ?? '', /No space left on device\. Make room on its disk/)
  runner.child.kill('SIGTERM')
  assert.equal((await runner.ended).code, 0)
})
