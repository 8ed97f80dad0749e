/**
 * The App Data Service as a real HTTP server on loopback: a complete and strict implementation of its
 * specification over invented stores. It knows nothing of the product that calls it.
 */

import { randomUUID } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import Fastify, {
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
} from 'fastify'
import { z } from 'zod'
import { type Endpoint, listEndpoints, Refusal } from './endpoints.ts'
import { type Code, VERSION } from './envelope.ts'
import { answerInTrouble, FaultSettings, sendJson } from './faults.ts'
import { MAX_BODY_BYTES } from './offers.ts'
import { Options, type OptionsInput } from './options.ts'
import { openService, type Service } from './service.ts'
import { Webhooks } from './webhooks.ts'

/** A running sandbox. `instance` is another one at every start; `idleMs` is the time since the last call. */
export type Sandbox = { url: string; instance: string; idleMs(): number; close(): Promise<void> }

const HOST = '127.0.0.1'
/** How often the sandbox looks whether tasks are done, so that webhooks need no call from a client. */
const LOOK_EVERY_MS = 50

/** Whether a request carries the login of the account; one that does not has been answered. */
type LoginCheck = (request: FastifyRequest, reply: FastifyReply) => boolean

/** Makes what checks Basic authentication; it answers the calls that it refuses with 401 and 40100. */
const buildLoginCheck = ({ login, password }: Options, { envelope }: Service): LoginCheck => {
  const expected = `Basic ${Buffer.from(`${login}:${password}`).toString('base64')}`
  return (request, reply) => {
    if (request.headers.authorization === expected) return true
    reply.header('www-authenticate', 'Basic realm="App Data Service"')
    sendJson(reply, envelope.wrapRefusal(40100), 401)
    return false
  }
}

/** Guards every call below /v3, before its body is read. */
const guardCalls = (
  app: FastifyInstance,
  { calls, envelope, makeId, now }: Service,
  isKnown: LoginCheck,
): void => {
  app.addHook('onRequest', async (request, reply) => {
    const refuse = (code: Code) => {
      const id = makeId(now(), 'refused')
      return sendJson(reply, envelope.wrapRefusal(code, { path: request.url.split('?')[0] ?? '', id }))
    }
    if (!request.url.startsWith('/v3')) return
    reply.raw.once('close', () => calls.leave())
    if (!calls.enter()) return refuse(40209)
    if (!isKnown(request, reply)) return reply
    const { countAs = 'unknown', window = 'calls' } = request.routeOptions.config as Partial<Endpoint>
    // As it is sold, an account that is not verified sees itself all the same.
    const isOpen = calls.limits.verified || (envelope.codes.isSold && countAs === 'user_data')
    if (!isOpen) return refuse(40104)
    if (!calls.admit(countAs, window, now())) return refuse(40202)
    return
  })
}

const addEndpoints = (
  app: FastifyInstance,
  service: Service,
  webhooks: Webhooks,
  closing: AbortSignal,
): void => {
  const { tasks, faults, envelope } = service
  for (const { method, path, answer, ...config } of listEndpoints(service, webhooks)) {
    app.route<{ Params: { id?: string; country?: string } }>({
      method,
      url: path,
      config: config as object,
      handler: async ({ url, protocol, host, params: { id = '', country = '' }, body }, reply) => {
        const startedMs = performance.now()
        const called = url.split('?')[0] ?? path
        const trouble = faults.strikeCall(called)
        const work = () => {
          const nowMs = service.now()
          webhooks.send(tasks.settle(nowMs))
          const answers = answer({ id, country, body, nowMs, origin: `${protocol}://${host}` })
          return envelope.wrapTasks(called, answers, performance.now() - startedMs)
        }
        if (!trouble) return sendJson(reply, work())
        return answerInTrouble(trouble, reply, { work, refuse: envelope.wrapRefusal, closing })
      },
    })
  }
}

/** The control of the faults, for who knows the login: which there are, how often each struck, and others. */
const addControl = (app: FastifyInstance, { faults }: Service, isKnown: LoginCheck): void => {
  const show = () => ({ faults: faults.settings, struck: faults.struck, clockOffsetMs: faults.clockOffsetMs })
  app.get('/faults', (request, reply) => (isKnown(request, reply) ? show() : reply))
  app.put('/faults', (request, reply) => {
    if (!isKnown(request, reply)) return reply
    const { data, error } = FaultSettings.safeParse(request.body)
    if (!data) return reply.code(400).send({ error: z.prettifyError(error) })
    faults.replace(data)
    return show()
  })
}

/** The codes of requests that cannot be read, by what HTTP says of them: the service answers with 200. */
const UNREADABLE: Readonly<Record<number, Code>> = { 400: 40500, 413: 40007, 415: 40504 }

const showErrors = (app: FastifyInstance, { envelope }: Service): void => {
  const refuse = (reply: FastifyReply, code: Code, httpStatus = 200) =>
    sendJson(reply, envelope.wrapRefusal(code), httpStatus)
  app.setNotFoundHandler((_request, reply) => refuse(reply, 40400, 404))
  app.setErrorHandler((error: FastifyError | Refusal, request, reply) => {
    if (error instanceof Refusal) return refuse(reply, error.code)
    const { statusCode = 500, message, stack } = error
    if (!request.url.startsWith('/v3')) return reply.code(statusCode).send({ error: message })
    if (request.is404) return refuse(reply, 40400, 404)
    const code = UNREADABLE[statusCode]
    if (code !== undefined) return refuse(reply, code)
    process.stderr.write(`${stack}\n`)
    return refuse(reply, 50000, 500)
  })
}

/** On the port of the options, or on a free one where that is taken and was not asked for strictly. */
const listen = async (
  build: () => FastifyInstance,
  port: number,
  isStrict: boolean,
): Promise<FastifyInstance> => {
  const app = build()
  try {
    await app.listen({ host: HOST, port })
    return app
  } catch (error) {
    await app.close()
    if (isStrict || (error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error
    return listen(build, 0, true)
  }
}

/**
 * Starts a sandbox in this process. `now` is its clock, in milliseconds since 1970. Throws a ZodError on
 * options that break a rule, StateInUseError when the state file is open elsewhere, and the system's error on
 * a port in use that was asked for strictly.
 */
export const startSandbox = async (input: OptionsInput & { now?: () => number } = {}): Promise<Sandbox> => {
  const { now: hostNow = Date.now, ...chosen } = input
  const options = Options.parse(chosen)
  const service = openService(options, hostNow)
  const webhooks = new Webhooks(service, options)
  const instance = randomUUID()
  const closing = new AbortController()
  let lastRequestMs = performance.now()
  const build = (): FastifyInstance => {
    const app = Fastify({
      bodyLimit: MAX_BODY_BYTES,
      forceCloseConnections: true,
      // A path that cannot be read, or an id longer than any, names no endpoint.
      frameworkErrors: (_error, _request, reply) => sendJson(reply, service.envelope.wrapRefusal(40400), 404),
    })
    app.removeContentTypeParser('text/plain')
    app.addHook('onRequest', async (_request, reply) => {
      lastRequestMs = performance.now()
      reply.header('date', new Date(service.now()).toUTCString())
    })
    const isKnown = buildLoginCheck(options, service)
    guardCalls(app, service, isKnown)
    showErrors(app, service)
    const greeting = { service: 'storerank sandbox', version: VERSION, seed: options.seed }
    app.get('/', () => ({ ...greeting, pid: process.pid, instance }))
    addControl(app, service, isKnown)
    addEndpoints(app, service, webhooks, closing.signal)
    return app
  }
  const stop = async () => {
    await webhooks.close()
    service.tasks.close()
  }
  try {
    const app = await listen(build, options.port, options.strictPort)
    const look = setInterval(() => webhooks.send(service.tasks.settle(service.now())), LOOK_EVERY_MS)
    return {
      url: `http://${HOST}:${(app.server.address() as AddressInfo).port}`,
      instance,
      idleMs: () => performance.now() - lastRequestMs,
      close: async () => {
        clearInterval(look)
        closing.abort()
        await app.close()
        await stop()
      },
    }
  } catch (error) {
    await stop()
    throw error
  }
}
