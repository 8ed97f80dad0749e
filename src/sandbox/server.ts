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
import { Account } from './account.ts'
import { Calls } from './calls.ts'
import { type Code, chooseCodes } from './codes.ts'
import { chooseDeviations } from './deviations.ts'
import { listEndpoints, Refusal } from './endpoints.ts'
import { buildEnvelope, type Envelope, VERSION } from './envelope.ts'
import { FaultSettings, Faults } from './faults.ts'
import { buildLoginCheck, guardCalls, type LoginCheck } from './guard.ts'
import { chooseIds } from './ids.ts'
import { MAX_BODY_BYTES } from './limits.ts'
import { listOffers } from './offers.ts'
import { Options, type OptionsInput } from './options.ts'
import { readRealApps } from './real-apps.ts'
import { openAnswers } from './results.ts'
import type { Service } from './service.ts'
import { Tasks } from './tasks.ts'
import { answerInTrouble, sendJson } from './trouble.ts'
import { Webhooks } from './webhooks.ts'

/**
 * A running sandbox. `instance` is another one for every start; `idleMs` is the time since the last request.
 */
export type Sandbox = { url: string; instance: string; idleMs(): number; close(): Promise<void> }

const HOST = '127.0.0.1'
/**
 * How often the sandbox looks whether tasks are done, so that webhooks are sent without a call from a client.
 */
const LOOK_EVERY_MS = 50

/** Ends what is due by now, and sends the webhooks of it. */
const settle = ({ tasks }: Service, webhooks: Webhooks, nowMs: number): void =>
  webhooks.send(tasks.settle(nowMs))

const addEndpoints = (
  app: FastifyInstance,
  service: Service,
  webhooks: Webhooks,
  closing: AbortSignal,
): void => {
  for (const { method, path, countAs, window, answer } of listEndpoints(service, webhooks)) {
    const handler = async (request: FastifyRequest, reply: FastifyReply) => {
      const startedMs = performance.now()
      const called = request.url.split('?')[0] ?? path
      const trouble = service.faults.strikeCall(called)
      const work = () => {
        const nowMs = service.now()
        settle(service, webhooks, nowMs)
        const { id = '', country = '' } = request.params as { id?: string; country?: string }
        const origin = `${request.protocol}://${request.host}`
        const answers = answer({ id, country, body: request.body, nowMs, origin })
        return service.envelope.wrapTasks(called, answers, performance.now() - startedMs)
      }
      return trouble
        ? answerInTrouble(trouble, reply, { work, refuse: service.envelope.wrapRefusal, closing })
        : sendJson(reply, work())
    }
    app.route({ method, url: path, handler, config: { countAs, window } as object })
  }
}

/**
 * The control of the faults, for the owner of the account: what they are and how often each struck, and other
 * ones.
 */
const addControl = (app: FastifyInstance, { faults }: Service, isKnown: LoginCheck): void => {
  const show = () => ({ faults: faults.settings, struck: faults.struck, clockOffsetMs: faults.clockOffsetMs })
  app.get('/faults', (request, reply) => (isKnown(request, reply) ? show() : reply))
  app.put('/faults', (request, reply) => {
    if (!isKnown(request, reply)) return reply
    const settings = FaultSettings.safeParse(request.body)
    if (!settings.success) return reply.code(400).send({ error: z.prettifyError(settings.error) })
    faults.replace(settings.data)
    return show()
  })
}

/**
 * Errors as the service shows them: a request that cannot be read is refused with 200, a fault of our own is
 * 500.
 */
const showErrors = (app: FastifyInstance, { wrapRefusal }: Envelope): void => {
  const refuse = (reply: FastifyReply, code: Code, httpStatus = 200) =>
    sendJson(reply, wrapRefusal(code), httpStatus)
  app.setNotFoundHandler((_request, reply) => refuse(reply, 40400, 404))
  app.setErrorHandler((error: FastifyError | Refusal, request, reply) => {
    if (error instanceof Refusal) return refuse(reply, error.code)
    if (!request.url.startsWith('/v3')) {
      return reply.code(error.statusCode ?? 500).send({ error: error.message })
    }
    if (request.is404) return refuse(reply, 40400, 404)
    if (error.statusCode === 413) return refuse(reply, 40007)
    if (error.statusCode === 415) return refuse(reply, 40504)
    if (error.statusCode === 400) return refuse(reply, 40500)
    process.stderr.write(`${error.stack}\n`)
    return refuse(reply, 50000, 500)
  })
}

const openService = (options: Options, hostNow: () => number): Service => {
  const faults = new Faults(options.seed, options.faults)
  const deviations = chooseDeviations(options)
  const account = new Account({ ...options, isLimited: !deviations.has('no-limits') })
  const answers = openAnswers(
    options.seed,
    options.catalogFile ? readRealApps(options.catalogFile) : [],
    options.events,
    deviations,
  )
  return {
    login: options.login,
    readyMs: options.readyMs,
    offers: listOffers(deviations, options.htmlOnly),
    answers,
    account,
    tasks: new Tasks(options.login, account, options.stateFile),
    calls: new Calls(options),
    faults,
    deviations,
    envelope: buildEnvelope(chooseCodes(deviations)),
    makeId: chooseIds(deviations),
    now: () => faults.clockMs ?? hostNow() + faults.clockOffsetMs,
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
  const greeting = {
    service: 'storerank sandbox',
    version: VERSION,
    seed: options.seed,
    pid: process.pid,
    instance,
  }
  let lastRequestMs = performance.now()
  const build = () => {
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
    const isKnown = buildLoginCheck(options, service.envelope)
    guardCalls(app, service, { isKnown, isVerified: options.verified })
    showErrors(app, service.envelope)
    app.get('/', () => greeting)
    addControl(app, service, isKnown)
    addEndpoints(app, service, webhooks, closing.signal)
    return app
  }
  const stop = async () => {
    await webhooks.close()
    service.tasks.close()
  }
  try {
    const app = await listen(build, options)
    const look = setInterval(() => settle(service, webhooks, service.now()), LOOK_EVERY_MS)
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
