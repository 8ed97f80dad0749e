/**
 * A result as the service delivers it: the answer that task_get would give, in the body of a POST (spec:
 * Events).
 */

import { gunzipSync } from 'node:zlib'

import { UnreadableError } from '../errors.ts'
import { isOvercrowded, OVERSIZED, parseBody } from './answer.ts'
import { MAX_BODY_BYTES } from './exchange.ts'
import { type ResultOutcome, readReply, toOutcome } from './task-result.ts'
import { toReply } from './transport.ts'

/** A search of 100 apps: unpacked in one piece, it takes half the time that it takes in pieces of 16 KiB. */
const USUAL_BYTES = 64 * 1024

/**
 * Reads the body of a postback, compressed or not (docs/service.md: postback body).
 * @param id of the task that it was sent for, from its URL
 * @param maxBytes the most that a result of the task can have
 * @throws UnreadableError when it unpacks to more or has too many values, is no answer for this task, or done
 *   without a result; UnavailableError when it says nothing about the task
 */
export function readPostback(body: Buffer, id: string, maxBytes = MAX_BODY_BYTES): ResultOutcome {
  const json = unpack(body, maxBytes)
  if (json.byteLength > maxBytes || isOvercrowded(json))
    throw new UnreadableError(`The postback of ${id} is larger than its result can be.`, OVERSIZED)
  const envelope = parseBody(json)
  if (envelope?.tasks.length !== 1) {
    throw new UnreadableError(`The postback of ${id} is no answer of the service for one task.`, 'tasks')
  }
  const reply = toReply(envelope, { rawBytes: json.byteLength, answeredAt: null })
  return toOutcome(readReply(reply, id, `The postback of ${id}`))
}

/** By its first two bytes: a proxy may have unpacked it and left the header, or the other way round. */
function unpack(body: Buffer, maxOutputLength: number): Buffer {
  if (body[0] !== 0x1f || body[1] !== 0x8b) return body
  try {
    return gunzipSync(body, { maxOutputLength, chunkSize: USUAL_BYTES })
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') {
      throw new UnreadableError(`The postback holds more than ${maxOutputLength} bytes.`, OVERSIZED, {
        cause,
      })
    }
    throw new UnreadableError('The postback cannot be unpacked.', 'tasks', { cause })
  }
}
