/** A proxy before a database: as far away as a test says, and broken as it says. */
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import type { TestContext } from 'node:test'

export interface DatabaseProxy {
  /** The address of the database through the proxy. */
  readonly url: string
  /** How long each packet is on its way, in either direction. */
  delayMs: number
  /** Connections that were made so far. */
  readonly connections: number
  /** Ends all connections, as a firewall may that restarts. */
  reset(): void
  /** Forwards nothing more on the connections that there are, and not even their end. */
  silence(): void
}

/** What becomes of a connection once the server has said so much. */
export interface Breaking {
  readonly afterBytes: number
  readonly by: 'end' | 'silence' | 'reset'
}

/** Ends with the test. */
export async function startDatabaseProxy(
  t: TestContext,
  databaseUrl: string,
  { delayMs = 0, breaking }: { delayMs?: number; breaking?: Breaking } = {},
): Promise<DatabaseProxy> {
  const address = new URL(databaseUrl)
  const target = { host: address.hostname, port: Number(address.port) }
  const sockets = new Set<Socket>()
  const proxy = {
    url: '',
    delayMs,
    connections: 0,
    reset: () => {
      for (const socket of sockets) socket.resetAndDestroy()
    },
    silence: () => {
      for (const socket of sockets) {
        for (const event of ['data', 'end', 'close']) socket.removeAllListeners(event)
        socket.pause()
      }
    },
  }
  const add = (socket: Socket, other: Socket) => {
    sockets.add(socket)
    socket.setNoDelay()
    socket.on('error', () => other.destroy())
    socket.on('close', () => setTimeout(() => other.destroy(), proxy.delayMs))
    socket.on('end', () => setTimeout(() => other.end(), proxy.delayMs))
  }
  const server = createServer((near) => {
    proxy.connections += 1
    const far = connect(target)
    add(near, far)
    add(far, near)
    near.on('data', (bytes) => setTimeout(() => far.write(bytes), proxy.delayMs))
    let left = breaking?.afterBytes ?? Number.POSITIVE_INFINITY
    far.on('data', (bytes) => {
      const passed = bytes.subarray(0, Math.max(0, left))
      left -= bytes.length
      setTimeout(() => {
        if (passed.length > 0) near.write(passed)
        if (left >= 0 || breaking?.by === 'silence') return
        if (breaking?.by === 'reset') near.resetAndDestroy()
        else near.end()
      }, proxy.delayMs)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  address.port = String((server.address() as AddressInfo).port)
  proxy.url = address.href
  return proxy
}
