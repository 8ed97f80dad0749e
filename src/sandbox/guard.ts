/**
 * Checks every call below /v3, and the control of the sandbox, before it is answered: the login, the call
 * limits, the requests at once.
 */

import { createHash, timingSafeEqual } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Code } from './codes.ts'
import type { Endpoint } from './endpoints.ts'
import type { Envelope } from './envelope.ts'
import type { Service } from './service.ts'
import { sendJson } from './trouble.ts'

/** Compares in constant time, whatever the lengths. */
const isSame = (left: string, right: string): boolean => {
  const digest = (text: string) => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(left), digest(right))
}

/** Whether a request carries the login of the account; one that does not has been answered. */
export type LoginCheck = (request: FastifyRequest, reply: FastifyReply) => boolean

/** Makes what checks Basic authentication; it answers the calls that it refuses with 401 and 40100. */
export const buildLoginCheck = (
  { login, password }: { login: string; password: string },
  { wrapRefusal }: Envelope,
): LoginCheck => {
  const expected = `Basic ${Buffer.from(`${login}:${password}`).toString('base64')}`
  return (request, reply) => {
    if (isSame(request.headers.authorization ?? '', expected)) return true
    sendJson(reply.header('www-authenticate', 'Basic realm="App Data Service"'), wrapRefusal(40100), 401)
    return false
  }
}

/** Guards every call below /v3, before its body is read: how many at once, who, and how many a minute. */
export const guardCalls = (
  app: FastifyInstance,
  service: Service,
  { isKnown, isVerified }: { isKnown: LoginCheck; isVerified: boolean },
): void => {
  const { envelope, makeId, now } = service
  app.addHook('onRequest', async (request, reply) => {
    const refuse = (code: Code) => {
      const id = makeId(now(), 'refused')
      return sendJson(reply, envelope.wrapRefusal(code, { path: request.url.split('?')[0] ?? '', id }))
    }
    if (!request.url.startsWith('/v3')) return
    reply.raw.once('close', () => service.calls.leave())
    if (!service.calls.enter()) return refuse(40209)
    if (!isKnown(request, reply)) return reply
    const { countAs, window } = request.routeOptions.config as unknown as Partial<Endpoint>
    // As it is sold, an account that is not verified sees itself all the same.
    const isOpen = isVerified || (envelope.codes.isSold && countAs === 'user_data')
    if (!isOpen) return refuse(40104)
    if (!service.calls.admit(countAs ?? 'unknown', window, now())) return refuse(40202)
    return
  })
}
