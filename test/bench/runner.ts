/** A runner without scheduled jobs, as a process of its own. Arguments: URLs of the database and of the service. It ends with its input. */
import { pino } from 'pino'
import { createCallGate } from '../../src/db/call-gate.ts'
import { openDatabase } from '../../src/db/database.ts'
import { openQueue } from '../../src/queue/queue.ts'
import { nameRunner, startRunner } from '../../src/queue/runner.ts'
import { createClient } from '../../src/service/client.ts'
import { SETTINGS } from './settings.ts'

const [databaseUrl = '', baseUrl = ''] = process.argv.slice(2)
const { signal } = new AbortController()
const runner = nameRunner('bench', process.pid)
const settings = { ...SETTINGS, callsPerMinute: 1_000_000 }
/** The limits of the account are out of the way: as many requests at once as all runners of a bench have connections. */
const allRunners = { ...settings, runner, maxConcurrentRequests: 4 * settings.maxConcurrentRequests }
const db = openDatabase(databaseUrl)
const log = pino({ level: 'warn' }, pino.destination(2))
const queue = await openQueue(databaseUrl, log)
const client = createClient({
  baseUrl,
  login: 'bench',
  password: 'bench',
  maxConcurrent: settings.maxConcurrentRequests,
  gate: createCallGate(db, allRunners, signal),
})
await startRunner({ db, client, queue, settings, runner, log, signal }, [])
process.stdout.write('works\n')
process.stdin.resume().on('end', () => process.exit())
