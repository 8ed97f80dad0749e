/** Answers a call that a fault has struck, down to what happens to its socket. */

import { setTimeout as delay } from 'node:timers/promises'
import type { FastifyReply } from 'fastify'
import type { Code } from './codes.ts'
import type { Trouble } from './faults.ts'
import { pick } from './hash.ts'

const INTERNAL_CODES: readonly Code[] = [50000, 50301, 50401]
const GATEWAY_PAGE = '<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>'

/** Sends a body of JSON. */
export const sendJson = (reply: FastifyReply, body: string, httpStatus = 200) =>
  reply.code(httpStatus).header('content-type', 'application/json; charset=utf-8').send(body)

const sendHalf = (reply: FastifyReply, body: string) => {
  const bytes = Buffer.from(body)
  reply.hijack()
  reply.raw.writeHead(200, { 'content-type': 'application/json', 'content-length': bytes.length })
  reply.raw.write(bytes.subarray(0, bytes.length / 2), () => reply.raw.destroy())
  return reply
}

const cut = (reply: FastifyReply, end: 'destroy' | 'resetAndDestroy') => {
  reply.hijack()
  reply.raw.socket?.[end]()
  return reply
}

/** `work` gives the body that the call should get, `refuse` one that refuses it; `closing` ends waiting. */
export const answerInTrouble = async (
  { kind, when, ms, noise }: Trouble,
  reply: FastifyReply,
  { work, refuse, closing }: { work: () => string; refuse: (code: Code) => string; closing: AbortSignal },
): Promise<FastifyReply> => {
  let body = when === 'after' ? work() : ''
  if (kind === 'slow') {
    await delay(ms, undefined, { ref: false, signal: closing }).catch(() => {})
    if (closing.aborted) return cut(reply, 'destroy')
    if (when === 'before') body = work()
  }
  const senders: Record<typeof kind, () => FastifyReply> = {
    reset: () => cut(reply, 'resetAndDestroy'),
    lost: () => cut(reply, 'destroy'),
    http500: () => sendJson(reply, refuse(50000), 500),
    internalCode: () => sendJson(reply, refuse(pick(INTERNAL_CODES, noise >>> 1))),
    tasksNull: () => sendJson(reply, refuse(20000)),
    rateLimit: () => sendJson(reply, refuse(40202)),
    paymentRequired: () => sendJson(reply, refuse(40200), 402),
    halfBody: () => sendHalf(reply, body),
    notJson: () => reply.code(200).header('content-type', 'text/html').send(GATEWAY_PAGE),
    slow: () => sendJson(reply, body),
  }
  return senders[kind]()
}
