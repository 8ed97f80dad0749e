/** Answers a call that a fault has struck, down to what happens to its socket. */

import { setTimeout as delay } from 'node:timers/promises'
import type { FastifyReply } from 'fastify'
import type { Code } from './codes.ts'
import type { CallFault, Trouble } from './faults.ts'
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

/** `wrap` refuses the whole call. */
type Sender = (
  reply: FastifyReply,
  trouble: Trouble,
  wrap: (code: Code) => string,
  body: string,
) => FastifyReply

/** How the answer of each kind ends; `body` is the answer that should have been. */
const SENDERS: Record<CallFault, Sender> = {
  reset: (reply) => cut(reply, 'resetAndDestroy'),
  lost: (reply) => cut(reply, 'destroy'),
  http500: (reply, _trouble, wrap) => sendJson(reply, wrap(50000), 500),
  internalCode: (reply, { noise }, wrap) => sendJson(reply, wrap(pick(INTERNAL_CODES, noise >>> 1))),
  tasksNull: (reply, _trouble, wrap) => sendJson(reply, wrap(20000)),
  rateLimit: (reply, _trouble, wrap) => sendJson(reply, wrap(40202)),
  paymentRequired: (reply, _trouble, wrap) => sendJson(reply, wrap(40200), 402),
  halfBody: (reply, _trouble, _wrap, body) => sendHalf(reply, body),
  notJson: (reply) => reply.code(200).header('content-type', 'text/html').send(GATEWAY_PAGE),
  slow: (reply, _trouble, _wrap, body) => sendJson(reply, body),
}

/**
 * `work` does what the call asks for, and gives the body that it should get. `closing` ends the waiting of
 * slow answers.
 */
type TroubledCall = { work: () => string; refuse: (code: Code) => string; closing: AbortSignal }

/** Answers in trouble. */
export const answerInTrouble = async (
  trouble: Trouble,
  reply: FastifyReply,
  { work, refuse, closing }: TroubledCall,
): Promise<FastifyReply> => {
  let body = trouble.when === 'after' ? work() : ''
  if (trouble.kind === 'slow') {
    await delay(trouble.ms, undefined, { ref: false, signal: closing }).catch(() => {})
    if (closing.aborted) return cut(reply, 'destroy')
    if (trouble.when === 'before') body = work()
  }
  return SENDERS[trouble.kind](reply, trouble, refuse, body)
}
