/**
 * A connection for postgres.js, with TLS where it is wanted, before the driver gets to see it. The driver
 * listens for errors only after an error that the system returns at once (no network, no file descriptor) has
 * ended the process; and when the other side ends a connection after the handshake of TLS, it connects again,
 * at once and for ever.
 */
import { once } from 'node:events'
import { isIP, Socket } from 'node:net'
import { connect as secure, type TLSSocket } from 'node:tls'
import type { DatabaseAddress } from '../database-url.ts'
import { type AnsweredSocket, describeEarlyEnd, isCancel } from './guarded-socket.ts'

/** The driver's own. */
const CONNECT_TIMEOUT_S = 30
/** SSLRequest (PostgreSQL: Message Formats), and the answer of a server that has TLS. */
const SSL_REQUEST = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47])
const YES = 'S'.charCodeAt(0)

/**
 * Never rejects, because the driver's pool would then be one connection short for ever: a failure is an error
 * of the socket, once the driver listens.
 */
export async function openSocket(socket: AnsweredSocket, address: DatabaseAddress): Promise<Socket> {
  const { host, port, tls, connectTimeoutS } = address
  const late = () => socket.destroy(failure('CONNECT_TIMEOUT', `${host}:${port} does not answer`))
  const timer = setTimeout(late, (connectTimeoutS ?? CONNECT_TIMEOUT_S) * 1000)
  try {
    await connect(socket, address)
    // By these the driver names the server to a person.
    return Object.assign(tls === null ? socket : await secureSocket(socket, address), { host, port })
  } catch (error) {
    socket.destroy()
    const failed = new Socket()
    setImmediate(() => failed.destroy(error as Error))
    return Object.assign(failed, { host, port })
  } finally {
    clearTimeout(timer)
  }
}

/** Packets leave at once: a COPY inside a transaction is five times as fast. */
async function connect(socket: Socket, { host, port }: DatabaseAddress): Promise<void> {
  const connected = once(socket, 'connect')
  if (host.startsWith('/')) socket.connect(`${host}/.s.PGSQL.${port}`)
  else socket.setNoDelay().connect(port, host)
  await connected
}

async function secureSocket(socket: Socket, { host, port, tls }: DatabaseAddress): Promise<TLSSocket> {
  socket.write(SSL_REQUEST)
  const [[answer]] = (await once(socket, 'data')) as [Buffer]
  if (answer !== YES) throw failure('EPROTO', `${host}:${port} does not take connections with TLS`)
  const secured = secure({ ...tls, socket, ...(isIP(host) === 0 && { servername: host }) })
  await once(secured, 'secureConnect')
  return endLoudly(secured, `${host}:${port}`)
}

/** As an `AnsweredSocket` does it without TLS. */
function endLoudly(secured: TLSSocket, server: string): TLSSocket {
  const { write } = secured
  let mayEnd = false
  secured.once('data', () => {
    mayEnd = true
  })
  secured.write = (...args: unknown[]) => {
    if (isCancel(args[0])) mayEnd = true
    return Reflect.apply(write, secured, args)
  }
  secured.once('end', () => {
    if (!mayEnd) secured.destroy(failure('ECONNRESET', describeEarlyEnd(server)))
  })
  return secured
}

function failure(code: string, message: string): Error {
  return Object.assign(new Error(message), { code, syscall: 'connect' })
}
