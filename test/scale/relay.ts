/**
 * Passes connections on to another address. While it is cut it passes nothing, and tells nobody: bytes and
 * new connections wait.
 */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export interface Address {
  readonly host: string
  readonly port: number
}

export interface Relay extends Address {
  cut(): void
  mend(): void
}

/** Listens on a free port of `host`. */
export async function startRelay(host: string, target: Address): Promise<Relay> {
  const sockets = new Set<Socket>()
  let isCut = false
  const add = (socket: Socket, other: Socket) => {
    sockets.add(socket)
    socket.setNoDelay()
    socket.on('data', (bytes) => {
      if (!other.write(bytes)) socket.pause()
    })
    other.on('drain', () => {
      if (!isCut) socket.resume()
    })
    socket.on('end', () => other.end())
    // The other side learns of a lost connection as of an ended one.
    socket.on('error', () => {})
    socket.once('close', () => {
      sockets.delete(socket)
      other.destroy()
    })
    if (isCut) socket.pause()
  }
  const server = createServer({ allowHalfOpen: true }, (near) => {
    const far = connect({ ...target, allowHalfOpen: true })
    add(near, far)
    add(far, near)
  })
  server.listen(0, host)
  await once(server, 'listening')
  return {
    host,
    port: (server.address() as AddressInfo).port,
    cut: () => {
      isCut = true
      for (const socket of sockets) socket.pause()
    },
    mend: () => {
      isCut = false
      for (const socket of sockets) socket.resume()
    },
  }
}
