/** A server of a few lines for tests of what happens on the wire; every request is kept. */

import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'

import { AppDataClient } from '../../src/service/client.ts'
import type { TransportOptions } from '../../src/service/transport.ts'
import type { Owner } from '../sandbox/caller.ts'

interface ReceivedRequest {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

export interface WireServer {
  readonly baseUrl: string
  readonly received: ReceivedRequest[]
  /** Bytes that reached the server, of requests whole or not. */
  readonly bytesReceived: () => number
}

export type Answer = (request: ReceivedRequest, response: ServerResponse, socket: Socket) => void

/**
 * Answers each request, once its body is read, with the next of `answers`; the last one answers all further
 * ones.
 */
export async function startWireServer(owner: Owner, ...answers: Answer[]): Promise<WireServer> {
  const received: ReceivedRequest[] = []
  const sockets = new Set<Socket>()
  let closedBytes = 0
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    const entry = { method: request.method ?? '', path: request.url ?? '', headers: request.headers, body }
    received.push(entry)
    answers[Math.min(received.length, answers.length) - 1]?.(entry, response, request.socket)
  })
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.on('close', () => {
      sockets.delete(socket)
      closedBytes += socket.bytesRead
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  owner.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    bytesReceived: () => [...sockets].reduce((sum, socket) => sum + socket.bytesRead, closedBytes),
  }
}

/** A client that ends with its owner, and does not wait between attempts. */
export function openClient(
  owner: Owner,
  baseUrl: string,
  options: Partial<TransportOptions> = {},
): AppDataClient {
  const client = new AppDataClient({
    baseUrl,
    login: 'me',
    password: 'secret',
    clock: testClock(),
    ...options,
  })
  owner.after(() => client.close())
  return client
}

/** Makes one call to a server that answers so; shows its value or error and what was asked. */
export async function ask<T>(owner: Owner, answer: Answer, call: (client: AppDataClient) => Promise<T>) {
  const server = await startWireServer(owner, answer)
  const value = await call(openClient(owner, server.baseUrl))
  const [request] = server.received
  return { value, asked: `${request?.method} ${request?.path}`, body: request?.body }
}

/** The real clocks, with sleeps that take no time and are written down. */
export function testClock(sleptMs: number[] = []) {
  return {
    monotonicMs: () => performance.now(),
    wallMs: () => Date.now(),
    sleep: async (ms: number) => {
      sleptMs.push(ms)
    },
  }
}

/** An answer in the service's envelope. */
export function envelope(
  tasks: unknown,
  {
    httpStatus = 200,
    ...fields
  }: { httpStatus?: number; status_code?: number; status_message?: string } = {},
): Answer {
  return (_, response) => {
    response.writeHead(httpStatus, { 'content-type': 'application/json' })
    const head = {
      version: '0.1.20260101',
      status_code: 20000,
      status_message: 'Ok.',
      time: '0.1 sec.',
      cost: 0,
    }
    response.end(JSON.stringify({ ...head, ...fields, tasks_count: 1, tasks_error: 0, tasks }))
  }
}

/** One task with its result. */
export function taskWith(result: unknown, fields: Record<string, unknown> = {}) {
  return { id: 'id-1', status_code: 20000, status_message: 'Ok.', cost: 0, result, ...fields }
}

/** Any text as the whole body. */
export function plainBody(httpStatus: number, body: string, headers: Record<string, string> = {}): Answer {
  return (_, response) => {
    response.writeHead(httpStatus, headers)
    response.end(body)
  }
}

/** Says nothing at all. */
export const stall: Answer = () => {}

export const reset: Answer = (_, __, socket) => {
  socket.resetAndDestroy()
}

/** Promises more than it sends, then closes. */
export const halfBody: Answer = (_, response, socket) => {
  response.writeHead(200, { 'content-length': '1000' })
  response.write('{"status_code":20000,', () => socket.destroy())
}
