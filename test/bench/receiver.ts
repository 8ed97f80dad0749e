/**
 * A process that takes deliveries: as a runner that listens, with the URL of its database as argument, or for
 * reading alone, without: the same HTTP server, the same bodies unpacked and parsed, and nothing else. It
 * says its own URL, and when it is asked how many results it has stored.
 */
import { randomBytes } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import { gunzipSync } from 'node:zlib'
import Fastify from 'fastify'
import type { Fetched } from '../../src/collect/fetch.ts'
import { startReceiver } from '../../src/collect/receiver.ts'
import { openDatabase } from '../../src/db/database.ts'
import { createDictionary } from '../../src/history/dictionary.ts'
import { storeFetched } from '../../src/history/store.ts'
import { Secret } from '../../src/secret.ts'
import { LOG } from './context.ts'
import { SETTINGS } from './settings.ts'
import { answerMessages } from './talk.ts'

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
    log: LOG,
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

async function readAlone(): Promise<Listening> {
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
  databaseUrl === undefined ? await readAlone() : await listenAsRunner(databaseUrl, secret)
process.send?.({ postbackUrl: `http://${HOST}:${port}/${secret}?id=$id&tag=$tag` })
answerMessages(() => ({ stored: stored() }))
