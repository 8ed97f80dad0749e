/**
 * The App Data Service as a real HTTP server on loopback: a complete and strict implementation of its
 * specification over invented stores. It knows nothing of the product that calls it.
 */

import { createHash, randomUUID, timingSafeEqual } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import Fastify, {
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
} from 'fastify'
import { Account } from './account.ts'
import { Calls } from './calls.ts'
import type { Code } from './codes.ts'
import { type Endpoint, listEndpoints, Refusal, type Service } from './endpoints.ts'
import { VERSION, wrapRefusal, wrapTasks } from './envelope.ts'
import { readFacts } from './facts.ts'
import { MAX_BODY_BYTES } from './limits.ts'
import { Options, type OptionsInput } from './options.ts'
import { buildAnswers } from './results.ts'
import { Tasks } from './tasks.ts'

/** A running sandbox. `instance` is another one for every start; `idleMs` is the time since the last request. */
export type Sandbox = { url: string; instance: string; idleMs(): number; close(): Promise<void> }

const JSON_TYPE = 'application/json; charset=utf-8'
const HOST = '127.0.0.1'

const send = (reply: FastifyReply, body: string, httpStatus = 200) =>
  reply.code(httpStatus).header('content-type', JSON_TYPE).send(body)

const refuse = (reply: FastifyReply, code: Code, httpStatus = 200) =>
  send(reply, wrapRefusal(code), httpStatus)

/** Compares in constant time, whatever the lengths. */
const isSame = (left: string, right: string): boolean => {
  const digest = (text: string) => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(left), digest(right))
}

/** Guards every call below /v3, before its body is read: how many at once, who, and how many a minute. */
const guardCalls = (app: FastifyInstance, service: Service, options: Options, now: () => number) => {
  const expected = `Basic ${Buffer.from(`${options.login}:${options.password}`).toString('base64')}`
  app.addHook('onRequest', async (request, reply) => {
    if (!request.url.startsWith('/v3')) return
    reply.raw.once('close', () => service.calls.leave())
    if (!service.calls.enter()) return refuse(reply, 40209)
    if (!isSame(request.headers.authorization ?? '', expected)) {
      reply.header('www-authenticate', 'Basic realm="App Data Service"')
      return refuse(reply, 40100, 401)
    }
    const { countAs, window } = request.routeOptions.config as unknown as Partial<Endpoint>
    if (!service.calls.admit(countAs ?? 'unknown', window, now())) return refuse(reply, 40202)
    return
  })
}

const addEndpoints = (app: FastifyInstance, service: Service, now: () => number) => {
  for (const { method, path, countAs, window, answer } of listEndpoints(service)) {
    const handler = async (request: FastifyRequest, reply: FastifyReply) => {
      const startedMs = performance.now()
      const nowMs = now()
      service.tasks.settle(nowMs)
      const { id = '' } = request.params as { id?: string }
      const answers = answer({ id, body: request.body, nowMs })
      return send(reply, wrapTasks(request.url.split('?')[0] ?? path, answers, performance.now() - startedMs))
    }
    app.route({ method, url: path, handler, config: { countAs, window } as object })
  }
}

/** Errors as the service shows them: a request that cannot be read is refused with 200, a fault of our own is 500. */
const showErrors = (app: FastifyInstance) => {
  app.setNotFoundHandler((_request, reply) => refuse(reply, 40400, 404))
  app.setErrorHandler((error: FastifyError | Refusal, _request, reply) => {
    if (error instanceof Refusal) return refuse(reply, error.code)
    if (error.statusCode === 413) return refuse(reply, 40007)
    if (error.statusCode === 415) return refuse(reply, 40504)
    if (error.statusCode === 400) return refuse(reply, 40500)
    process.stderr.write(`${error.stack}\n`)
    return refuse(reply, 50000, 500)
  })
}

const openService = (options: Options): Service => {
  const account = new Account(options)
  const answers = buildAnswers(options.seed, options.catalogFile ? readFacts(options.catalogFile) : [])
  const tasks = new Tasks(account, options.stateFile)
  return {
    login: options.login,
    readyMs: options.readyMs,
    answers,
    account,
    tasks,
    calls: new Calls(options),
  }
}

const listen = async (build: () => FastifyInstance, options: Options): Promise<FastifyInstance> => {
  const app = build()
  try {
    await app.listen({ host: HOST, port: options.port })
    return app
  } catch (error) {
    await app.close()
    if (options.strictPort || (error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error
    return listen(build, { ...options, port: 0, strictPort: true })
  }
}

/**
 * Starts a sandbox in this process. `now` is its clock, in milliseconds since 1970. Throws a ZodError on options
 * that break a rule, StateInUseError when the state file is open elsewhere, and the system's error on a port in
 * use that was asked for strictly.
 */
export const startSandbox = async (input: OptionsInput & { now?: () => number } = {}): Promise<Sandbox> => {
  const { now = Date.now, ...chosen } = input
  const options = Options.parse(chosen)
  const service = openService(options)
  const instance = randomUUID()
  let lastRequestMs = performance.now()
  const build = () => {
    const app = Fastify({ bodyLimit: MAX_BODY_BYTES, forceCloseConnections: true })
    app.removeContentTypeParser('text/plain')
    app.addHook('onRequest', async () => {
      lastRequestMs = performance.now()
    })
    guardCalls(app, service, options, now)
    showErrors(app)
    app.get('/', () => ({
      service: 'storerank sandbox',
      version: VERSION,
      seed: options.seed,
      pid: process.pid,
      instance,
    }))
    addEndpoints(app, service, now)
    return app
  }
  try {
    const app = await listen(build, options)
    return {
      url: `http://${HOST}:${(app.server.address() as AddressInfo).port}`,
      instance,
      idleMs: () => performance.now() - lastRequestMs,
      close: async () => {
        await app.close()
        service.tasks.close()
      },
    }
  } catch (error) {
    service.tasks.close()
    throw error
  }
}
