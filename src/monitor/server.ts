/**
 * The operator's address: whether this process works, whether it can work, and its metrics. It has no
 * authentication, so it listens on loopback unless it is told otherwise, and never where the service delivers
 * results.
 */
import type { AddressInfo } from 'node:net'
import Fastify from 'fastify'
import type { Logger } from 'pino'
import { ConfigurationError } from '../errors.ts'
import { type ListenAddress, onThisMachine } from '../listen-address.ts'
import { whyNot } from '../trouble.ts'
import type { Metrics } from './metrics.ts'

/** Null when all is well, else a sentence. */
export type Probe = () => Promise<string | null>

export interface MonitorDeps {
  readonly metrics: Metrics
  /** Whether this process works: its last tick was on time. */
  readonly isHealthy: Probe
  /** Whether it can work: the database answers, with the schema of this version. */
  readonly isReady: Probe
  readonly log: Logger
}

export interface MonitorServer {
  readonly address: ListenAddress
  close(): Promise<void>
}

const REQUEST_TIMEOUT_MS = 10_000
const MAX_CONNECTIONS = 64

/** @throws ConfigurationError when it cannot listen there */
export async function startMonitorServer(deps: MonitorDeps, listen: ListenAddress): Promise<MonitorServer> {
  const app = Fastify({ bodyLimit: 1024, requestTimeout: REQUEST_TIMEOUT_MS, forceCloseConnections: true })
  app.server.maxConnections = MAX_CONNECTIONS
  const answer = (path: string, probe: Probe) =>
    app.get(path, async (_request, reply) => {
      const problem = await probe()
      return reply
        .code(problem === null ? 200 : 503)
        .type('text/plain; charset=utf-8')
        .send(`${problem ?? 'ok'}\n`)
    })
  answer('/healthz', deps.isHealthy)
  answer('/readyz', deps.isReady)
  app.get('/metrics', async (_request, reply) =>
    reply.type('text/plain; version=0.0.4; charset=utf-8').send(await deps.metrics.render()),
  )
  app.setNotFoundHandler((_request, reply) =>
    reply.code(404).send('Not found: /healthz, /readyz and /metrics are here.\n'),
  )
  app.setErrorHandler((error, _request, reply) => {
    deps.log.warn({ err: error }, 'the operator could not be answered')
    return reply.code(500).send('It could not be told; the log says why.\n')
  })
  try {
    // Fastify writes into what it is given, and settings are frozen.
    await app.listen(onThisMachine(listen))
  } catch (cause) {
    throw new ConfigurationError(
      `OPERATIONS_LISTEN: it is not possible to listen on ${listen.host}:${listen.port}: ${whyNot(cause)}.`,
      { cause },
    )
  }
  const { address, port } = app.server.address() as AddressInfo
  return { address: { host: address, port }, close: () => app.close() }
}
