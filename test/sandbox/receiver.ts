/** A client's server that takes pingbacks and postbacks, over real HTTP. */

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { gunzipSync } from 'node:zlib'
import type { Json, Owner } from './caller.ts'

/** A webhook as it came in; `body` is what a postback carried, decompressed and read. */
type Received = {
  method: string
  path: string
  headers: IncomingMessage['headers']
  body: Json
}

export type Receiver = {
  url: string
  received: Received[]
  /** How webhooks are answered from now on. */
  answer: (response: ServerResponse, webhook: Received) => void
}

/** Waits until something is true: within 20 seconds or the test fails. */
export const until = async (isTrue: () => boolean | Promise<boolean>): Promise<void> => {
  const deadlineMs = performance.now() + 20_000
  while (!(await isTrue())) {
    assert.ok(performance.now() < deadlineMs, `never came true: ${isTrue}`)
    await delay(5)
  }
}

/** Starts a receiver that answers 200 until the test changes that; stopped with its owner. */
export const openReceiver = async (owner: Owner): Promise<Receiver> => {
  const server = createServer(async (request, response) => {
    const bytes = await buffer(request).catch(() => undefined)
    if (!bytes) return
    const webhook = {
      method: request.method ?? '',
      path: request.url ?? '',
      headers: request.headers,
      body: bytes.length > 0 ? JSON.parse(gunzipSync(bytes).toString()) : undefined,
    }
    receiver.received.push(webhook)
    receiver.answer(response, webhook)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  owner.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const receiver: Receiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received: [],
    answer: (response) => void response.end(),
  }
  return receiver
}
