/** Checks every call below /v3, and the control of the sandbox, before it is answered: the login, the call limits, the requests at once. */

import { createHash, timingSafeEqual } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Endpoint, Service } from './endpoints.ts'
import { wrapRefusal } from './envelope.ts'
import { sendJson } from './trouble.ts'

/** Compares in constant time, whatever the lengths. */
const isSame = (left: string, right: string): boolean => {
  const digest = (text: string) => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(left), digest(right))
}

/** Whether a request carries the login of the account; one that does not has been answered. */
export type LoginCheck = (request: FastifyRequest, reply: FastifyReply) => boolean

/** Makes what checks Basic authentication; it answers the calls that it refuses with 401 and 40100. */
export const buildLoginCheck = ({ login, password }: { login: string; password: string }): LoginCheck => {
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
  { isKnown, isVerified, now }: { isKnown: LoginCheck; isVerified: boolean; now: () => number },
): void => {
  app.addHook('onRequest', async (request, reply) => {
    if (!request.url.startsWith('/v3')) return
    reply.raw.once('close', () => service.calls.leave())
    if (!service.calls.enter()) return sendJson(reply, wrapRefusal(40209))
    if (!isKnown(request, reply)) return reply
    if (!isVerified) return sendJson(reply, wrapRefusal(40104))
    const { countAs, window } = request.routeOptions.config as unknown as Partial<Endpoint>
    if (!service.calls.admit(countAs ?? 'unknown', window, now())) return sendJson(reply, wrapRefusal(40202))
    return
  })
}
