/**
 * A process that takes deliveries: as a runner that listens, with the URL of its database as argument, or as
 * the floor of the same run, without: the same HTTP server, the same bodies unpacked and parsed, and nothing
 * else. It says its own URL, and at each line of its input how many results it has stored. It ends with its
 * input.
 */
import { randomBytes } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import { createInterface } from 'node:readline'
import { gunzipSync } from 'node:zlib'
import Fastify from 'fastify'
import { pino } from 'pino'
import type { Fetched } from '../../src/collect/fetch.ts'
import { startReceiver } from '../../src/collect/receiver.ts'
import { openDatabase } from '../../src/db/database.ts'
import { createDictionary } from '../../src/history/dictionary.ts'
import { storeFetched } from '../../src/history/store.ts'
import { Secret } from '../../src/secret.ts'
import { SETTINGS } from './settings.ts'

interface Listening {
  readonly port: number
  readonly stored: () => number
}

const HOST = '127.0.0.1'
/** A search of 100 apps is unpacked in one piece. */
const UNPACKED_BYTES = 64 * 1024

async function listenAsRunner(databaseUrl: string, secret: string): Promise<Listening> {
  const db = openDatabase(databaseUrl)
  const dictionary = createDictionary(db)
  const stores = { db, dictionary, maxAttempts: SETTINGS.maxAttempts }
  let stored = 0
  const deps = {
    db,
    log: pino({ level: 'warn' }, pino.destination(2)),
    overdueAfterMs: SETTINGS.overdueAfterMs,
    enqueue: async () => {},
    store: async (batch: readonly Fetched[]) => {
      const outcome = await storeFetched(stores, batch, async () => {})
      // Not in one expression with `await`, which would add to the sum as it was before: batches are stored
      // side by side.
      stored += outcome.stored
    },
  }
  const url = new Secret(`http://${HOST}/${secret}`)
  const { address } = await startReceiver(deps, url, { host: HOST, port: 0 })
  return { port: address.port, stored: () => stored }
}

async function listenAsFloor(): Promise<Listening> {
  const app = Fastify()
  let read = 0
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
  app.post('/*', (request, reply) => {
    const body = gunzipSync(request.body as Buffer, { chunkSize: UNPACKED_BYTES })
    read += JSON.parse(body.toString('utf8')).tasks.length
    return reply.send()
  })
  await app.listen({ host: HOST, port: 0 })
  return { port: (app.server.address() as AddressInfo).port, stored: () => read }
}

const [databaseUrl] = process.argv.slice(2)
const secret = randomBytes(24).toString('hex')
const { port, stored } =
  databaseUrl === undefined ? await listenAsFloor() : await listenAsRunner(databaseUrl, secret)
const say = (line: unknown) => process.stdout.write(`${JSON.stringify(line)}\n`)
say({ postbackUrl: `http://${HOST}:${port}/${secret}?id=$id&tag=$tag` })
for await (const _ of createInterface({ input: process.stdin })) say({ stored: stored() })
process.exit(0)
