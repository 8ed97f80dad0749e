/**
 * A runner without scheduled jobs, as a process of its own. Arguments: URLs of the database and of the
 * service, and `listen` when it takes deliveries. It says where it listens when it works, and ends with its
 * input.
 */
import { randomBytes } from 'node:crypto'
import { pino } from 'pino'
import { createCallGate } from '../../src/db/call-gate.ts'
import { openDatabase } from '../../src/db/database.ts'
import { listen } from '../../src/queue/listen.ts'
import { openQueue } from '../../src/queue/queue.ts'
import { nameRunner, startRunner } from '../../src/queue/runner.ts'
import { Secret } from '../../src/secret.ts'
import { AppDataClient } from '../../src/service/client.ts'
import { SETTINGS } from './settings.ts'

const [databaseUrl = '', baseUrl = '', mode] = process.argv.slice(2)
const HOST = '127.0.0.1'
const secret = randomBytes(24).toString('hex')
const { signal } = new AbortController()
const runner = nameRunner('bench', process.pid)
const postbackUrl = mode === 'listen' ? new Secret(`http://${HOST}/${secret}`) : null
const settings = { ...SETTINGS, callsPerMinute: 1_000_000, postbackUrl }
/**
 * The limits of the account are out of the way: as many requests at once as all runners of a bench have
 * connections.
 */
const allRunners = { ...settings, runner, maxConcurrentRequests: 4 * settings.maxConcurrentRequests }
const db = openDatabase(databaseUrl)
const log = pino({ level: 'warn' }, pino.destination(2))
const queue = await openQueue(databaseUrl, log)
const client = new AppDataClient({
  baseUrl,
  login: 'bench',
  password: 'bench',
  maxConcurrent: settings.maxConcurrentRequests,
  gate: createCallGate(db, allRunners, signal),
})
const context = { db, client, queue, settings, runner, log, signal }
const receiver = await listen(context, { host: HOST, port: 0 })
await startRunner(context, [])
const { port } = receiver?.address ?? {}
process.stdout.write(
  `${JSON.stringify({ postbackUrl: `http://${HOST}:${port}/${secret}?id=$id&tag=$tag` })}\n`,
)
process.stdin.resume().on('end', () => process.exit())
