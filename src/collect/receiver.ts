/**
 * Takes the service's webhooks over HTTP. They are not signed: the last segment of their path is a secret,
 * without which every request is answered alike. A postback is answered with 200 after the commit that stored
 * it. Clients are bounded in time, number and size.
 */
import { createHash, randomUUID, timingSafeEqual } from 'node:crypto'
import type { AddressInfo, Server, Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import { type ListenAddress, onThisMachine, refuseAddress } from '../listen-address.ts'
import type { Secret } from '../secret.ts'
import { readIdentifier } from '../service/fields.ts'
import { whyNot } from '../trouble.ts'
import { createBatcher } from './batcher.ts'
import {
  handOutPingbacks,
  type Pingback,
  type Postback,
  storePostbacks,
  type Verdict,
  type WebhookDeps,
} from './webhooks.ts'

export interface Receiver {
  /** Where it listens. */
  readonly address: ListenAddress
  /** Takes no new connection and answers the requests that it has; after some seconds it ends even those. */
  close(): Promise<void>
}

/** Six times the largest search as plain JSON; compressed ones have a tenth of its size. */
const MAX_SENT_BYTES = 4 * 1024 * 1024
/** Bodies are held as they came: there is room for some thousand of usual size. */
const BATCHES = { maxItems: 100, maxHeldBytes: 32 * 1024 * 1024, writers: 2 }
/** Counted for a webhook beside its body. */
const WEBHOOK_BYTES = 1_024
const MAX_CONNECTIONS = 256
/** The service gives up after ten seconds (spec: Events), and so need not be waited for longer. */
const REQUEST_TIMEOUT_MS = 10_000
const HEADERS_TIMEOUT_MS = 5_000
/** Longer than load balancers keep an idle connection, so that the balancer ends it and not we. */
const KEEP_ALIVE_MS = 75_000
const CLOSE_LIMIT_MS = 5_000
const MAX_ID_LENGTH = 64
/** A line of the log names the tasks of a batch where it has no more. */
const FEW_IDS = 10

interface Batchers {
  readonly postbacks: ReturnType<typeof batchOf<Postback>>
  readonly pingbacks: ReturnType<typeof batchOf<Pingback>>
}

export interface ReceiverDeps extends WebhookDeps {
  readonly log: Logger
}

/** The ids for a line of the log, when they are few. */
export function listFew(serviceIds: readonly string[]): { readonly serviceIds?: readonly string[] } {
  return serviceIds.length <= FEW_IDS ? { serviceIds } : {}
}

/**
 * Listens until it is closed.
 * @param url the address that tasks are posted with
 * @throws ConfigurationError or UnavailableError when it cannot listen there
 */
export async function startReceiver(
  deps: ReceiverDeps,
  url: Secret,
  listen: ListenAddress,
): Promise<Receiver> {
  const batchers: Batchers = {
    postbacks: batchOf<Postback>((postbacks, batchId) => storePostbacks(deps, postbacks, batchId), deps.log),
    pingbacks: batchOf<Pingback>((pingbacks) => handOutPingbacks(deps, pingbacks), deps.log),
  }
  const app = buildServer(batchers, url)
  try {
    await app.listen(onThisMachine(listen))
  } catch (cause) {
    await app.close()
    throw refuseAddress('It is', listen, `${whyNot(cause)}. Choose another address with --listen.`)
  }
  const { address: host, port } = app.server.address() as AddressInfo
  return {
    address: { host, port },
    close: async () => {
      // The server does not wait for a request whose sender has gone; its batch is waited for here.
      const ended = app
        .close()
        .then(() => Promise.all([batchers.postbacks.drain(), batchers.pingbacks.drain()]))
      await Promise.race([ended, sleep(CLOSE_LIMIT_MS, undefined, { ref: false })])
      app.server.closeAllConnections()
    },
  }
}

/** When the database cannot store a batch, all of it is answered with 503, and comes again. */
function batchOf<Webhook extends Pingback>(
  take: (webhooks: readonly Webhook[], batchId: string) => Promise<Verdict[]>,
  log: Logger,
) {
  const write = async (webhooks: readonly Webhook[]): Promise<Verdict[]> => {
    const batchId = randomUUID()
    try {
      return await take(webhooks, batchId)
    } catch (error) {
      log.warn(
        { batchId, err: error, webhooks: webhooks.length, ...listFew(webhooks.map(({ id }) => id)) },
        'webhooks refused; their results stay in the ready list',
      )
      return webhooks.map(() => 503)
    }
  }
  return createBatcher(write, BATCHES)
}

function buildServer({ postbacks, pingbacks }: Batchers, url: Secret): FastifyInstance {
  const app = Fastify({
    bodyLimit: MAX_SENT_BYTES,
    exposeHeadRoutes: false,
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    http: { headersTimeout: HEADERS_TIMEOUT_MS, connectionsCheckingInterval: 1_000 },
    // An open connection may send one more request, which is answered.
    return503OnClosing: false,
    frameworkErrors: (_error, _request, reply) => refuse(reply, 404),
    clientErrorHandler: (_error, socket) => {
      if (socket.writable)
        socket.write('HTTP/1.1 404 Not Found\r\nconnection: close\r\ncontent-length: 0\r\n\r\n')
      socket.destroy()
    },
  })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
  app.addHook('onRequest', guardSecret(url, limitConnections(app.server, MAX_CONNECTIONS)))
  app.addHook('onSend', async (_request, reply) => {
    if (!app.server.listening) reply.header('connection', 'close')
  })
  app.setNotFoundHandler((_request, reply) => refuse(reply, 404))
  app.setErrorHandler((error: { statusCode?: number }, _request, reply) =>
    refuse(reply, error.statusCode === 413 ? 413 : 400),
  )
  const answer = async (reply: FastifyReply, verdict: Promise<Verdict> | null) =>
    verdict === null ? refuse(reply, 503) : reply.code(await verdict).send()
  app.get('/*', (request, reply) => {
    const webhook = readWebhook(request)
    return webhook === null ? refuse(reply, 400) : answer(reply, pingbacks.add(webhook, WEBHOOK_BYTES))
  })
  app.post('/*', (request, reply) => {
    const webhook = readWebhook(request)
    const { body } = request
    if (webhook === null || !Buffer.isBuffer(body)) return refuse(reply, 400)
    return answer(reply, postbacks.add({ ...webhook, body }, WEBHOOK_BYTES + body.byteLength))
  })
  return app
}

/** Answers without a body, and without waiting for the rest of the request. */
function refuse(reply: FastifyReply, status: Exclude<Verdict, 200>): FastifyReply {
  return reply.code(status).header('connection', 'close').send()
}

/** Only the end of the path counts, so that a proxy may serve us below any prefix. */
function guardSecret(url: Secret, welcome: (socket: Socket) => void) {
  const lastSegment = (path: string) => path.slice(path.lastIndexOf('/') + 1)
  const digest = (text: string) => createHash('sha256').update(text).digest()
  const expected = digest(lastSegment(new URL(url.reveal()).pathname))
  return async (request: FastifyRequest, reply: FastifyReply) => {
    const [path = ''] = request.url.split('?', 1)
    if (!timingSafeEqual(digest(lastSegment(path)), expected)) return refuse(reply, 404)
    welcome(request.raw.socket)
  }
}

/** The id as the service puts it into the URL; null without one. */
function readWebhook({ query }: FastifyRequest): Pingback | null {
  const id = readIdentifier((query as Record<string, unknown>).id, MAX_ID_LENGTH)
  return id === null ? null : { id }
}

/**
 * Keeps strangers from keeping the service out: when all connections are taken, a new one ends the eldest
 * that has not shown the secret.
 * @returns to be called with each connection that has shown it
 */
export function limitConnections(server: Server, max: number): (socket: Socket) => void {
  const open = new Set<Socket>()
  /** In the order in which they came. */
  const strangers = new Set<Socket>()
  const forget = (socket: Socket) => {
    open.delete(socket)
    strangers.delete(socket)
  }
  // An ended connection is counted until it is closed.
  server.maxConnections = 2 * max
  server.on('connection', (socket) => {
    if (open.size >= max) {
      const [eldest = socket] = strangers
      forget(eldest)
      eldest.destroy()
      if (eldest === socket) return
    }
    open.add(socket)
    strangers.add(socket)
    socket.once('close', () => forget(socket))
  })
  return (socket) => strangers.delete(socket)
}
