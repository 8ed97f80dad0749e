/**
 * Bounds the connections of a server so that strangers cannot keep the service out: when all are taken, a new
 * connection ends the one that has been open longest without showing the secret. The service sends its
 * request at once, so that its own connection is among the youngest. Connections that have shown the secret
 * are never ended for a new one.
 */
import type { Server, Socket } from 'node:net'

/** @returns to be called with each connection that has shown the secret */
export function limitConnections(server: Server, max: number): (socket: Socket) => void {
  const open = new Set<Socket>()
  /** In the order in which they came. */
  const strangers = new Set<Socket>()
  const forget = (socket: Socket) => {
    open.delete(socket)
    strangers.delete(socket)
  }
  // An ended connection is counted until it is closed.
  server.maxConnections = 2 * max
  server.on('connection', (socket) => {
    if (open.size >= max) {
      const [eldest = socket] = strangers
      forget(eldest)
      eldest.destroy()
      if (eldest === socket) return
    }
    open.add(socket)
    strangers.add(socket)
    socket.once('close', () => forget(socket))
  })
  return (socket) => strangers.delete(socket)
}
