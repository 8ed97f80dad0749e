/**
 * A thread whose first statement is of a session of its own. It answers what the next database makes of an
 * array.
 */
import { parentPort, workerData } from 'node:worker_threads'
import { openDatabase } from '../../src/db/database.ts'

const first = openDatabase(workerData)
const session = first.openSession(60_000)
await session`select`
await session.end()
await first.sql`select`
await first.close()
const next = openDatabase(workerData)
const [row] = await next.sql`select ${['a', 'b']}::text[] as texts`
await next.close()
parentPort?.postMessage({ ...row })
