/**
 * A server that only pretends to be PostgreSQL: it asks for the password in a way of its choice, and keeps
 * what it is told.
 */
import { type AddressInfo, createServer, type Socket } from 'node:net'
import type { TestContext } from 'node:test'

export interface Impostor {
  readonly port: number
  /** What each connection sent after its startup packet, as text. */
  heard(): string[]
}

/** An authentication message: code and what follows it. */
export function authentication(code: number, rest: string | Buffer = ''): Buffer {
  const body = Buffer.from(rest)
  const head = Buffer.from('R\0\0\0\0\0\0\0\0', 'latin1')
  head.writeUInt32BE(8 + body.length, 1)
  head.writeUInt32BE(code, 5)
  return Buffer.concat([head, body])
}

/** What the server says to a startup packet, and then to each further packet in turn. */
export async function startImpostor(
  t: TestContext,
  says: readonly Buffer[],
  { port = 0, bytewise = false } = {},
): Promise<Impostor> {
  const conversations: { heard: string }[] = []
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    const conversation = { heard: '' }
    conversations.push(conversation)
    sockets.add(socket)
    let turn = 0
    socket.setNoDelay()
    socket.on('error', () => undefined)
    socket.on('data', async (packet) => {
      if (turn > 0) conversation.heard += packet.toString('latin1')
      const answer = says[turn++] ?? Buffer.alloc(0)
      const size = bytewise ? 1 : answer.length || 1
      for (let from = 0; from < answer.length; from += size) {
        await new Promise((resolve) => socket.write(answer.subarray(from, from + size), resolve))
      }
    })
  })
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    heard: () => conversations.map(({ heard }) => heard),
  }
}
