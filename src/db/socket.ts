/**
 * How both drivers get to the server: by TCP, TLS or a unix socket. A program of another local user on the
 * port of a server that has died is not taken for the server: with TLS its certificate is the proof, and
 * without, that it knows the password too.
 */
import { once } from 'node:events'
import { isIP, Socket } from 'node:net'
import { connect as secure, type TLSSocket } from 'node:tls'
import type { DatabaseAddress } from '../database-url.ts'
import { UnavailableError } from '../errors.ts'

/** The driver's own. */
const CONNECT_TIMEOUT_S = 30
/** SSLRequest (PostgreSQL: Message Formats), and the answer of a server that has TLS. */
const SSL_REQUEST = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47])
const YES = 'S'.charCodeAt(0)

/** A socket that is not connected. */
export function makeSocket({ host, port, password, tls }: DatabaseAddress): Socket {
  return tls === null ? new GuardedSocket(`${host}:${port}`, password !== '') : new Socket()
}

/**
 * A connection for postgres.js, with TLS where it is wanted. Never rejects, because the driver would then
 * wait for it for ever.
 */
export async function openSocket(address: DatabaseAddress): Promise<Socket> {
  const { host, port, tls, connectTimeoutS } = address
  const socket = makeSocket(address)
  const late = () => socket.destroy(connectFailure('CONNECT_TIMEOUT', `${host}:${port} does not answer`))
  const timer = setTimeout(late, (connectTimeoutS ?? CONNECT_TIMEOUT_S) * 1000)
  try {
    await connect(socket, address)
    // By these the driver names the server to a person.
    return Object.assign(tls === null ? socket : await secureSocket(socket, address), { host, port })
  } catch (error) {
    socket.destroy()
    return Object.assign(failedSocket(error as Error), { host, port })
  } finally {
    clearTimeout(timer)
  }
}

/** One that fails once the driver listens: an error that comes before ends the process. */
export function failedSocket(error: Error): Socket {
  const socket = new Socket()
  setImmediate(() => socket.destroy(error))
  return socket
}

export function connectFailure(code: string, message: string): Error {
  return Object.assign(new Error(message), { code, syscall: 'connect' })
}

/** Of a tunnel or a proxy without a server behind it. */
export function endedEarly(server: string): Error {
  return connectFailure('ECONNRESET', `${server} takes the connection and ends it without an answer`)
}

/** Packets leave at once: a COPY inside a transaction is five times as fast. */
async function connect(socket: Socket, { host, port }: DatabaseAddress): Promise<void> {
  const connected = once(socket, 'connect')
  if (host.startsWith('/')) socket.connect(`${host}/.s.PGSQL.${port}`)
  else socket.setNoDelay().connect(port, host)
  await connected
}

async function secureSocket(socket: Socket, { host, port, tls }: DatabaseAddress): Promise<TLSSocket> {
  const closed = () => socket.destroy(endedEarly(`${host}:${port}`))
  socket.once('end', closed).write(SSL_REQUEST)
  const [[answer]] = (await once(socket, 'data')) as [Buffer]
  socket.off('end', closed)
  if (answer !== YES) throw connectFailure('EPROTO', `${host}:${port} does not take connections with TLS`)
  const secured = secure({ ...tls, socket, ...(isIP(host) === 0 && { servername: host }) })
  await once(secured, 'secureConnect')
  return secured
}

/** Codes of an authentication message (PostgreSQL: Message Formats). */
const OK = 0
const CLEARTEXT = 3
const MD5 = 5
const SCRAM = 10
const SCRAM_CHALLENGE = 11
const SCRAM_PROOF = 12

const AUTHENTICATION = 'R'.charCodeAt(0)
const HEADER_BYTES = 5
/** The messages of a login are much shorter. */
const MOST_BYTES = 65_536
/**
 * PostgreSQL's own default is 4,096. The driver computes them without a pause, so a server that asks for 2^31
 * would block the process.
 */
const MOST_ITERATIONS = 100_000

const REMEDY =
  "Have it ask for SCRAM (scram-sha-256 in pg_hba.conf, and the role's password set anew), or connect " +
  'by TLS with sslmode=verify-full.'

/**
 * Reads the server's messages until the login is done. The drivers send whatever a server asks for: the
 * password in clear text, or as a hash that is as good as the password. Over this socket it leaves only as
 * SCRAM, and when we have a password the server must prove by SCRAM that it knows it too.
 */
export class GuardedSocket extends Socket {
  readonly #server: string
  readonly #hasPassword: boolean
  #isOpen = false
  #isProven = false
  #unread = Buffer.alloc(0)

  /** @param server how a person knows it, without secrets */
  constructor(server: string, hasPassword: boolean) {
    super()
    this.#server = server
    this.#hasPassword = hasPassword
  }

  /** Node hands over what has arrived by calling this, before any listener sees it. */
  override push(chunk: Buffer | null): boolean {
    const refusal = chunk === null || this.#isOpen ? null : this.#read(chunk)
    if (refusal === null) return super.push(chunk)
    this.destroy(new UnavailableError(`The database server at ${this.#server} ${refusal}`))
    return false
  }

  /** The reason not to go on, or null. */
  #read(chunk: Buffer): string | null {
    this.#unread = Buffer.concat([this.#unread, chunk])
    while (!this.#isOpen && this.#unread.length >= HEADER_BYTES) {
      const end = 1 + this.#unread.readUInt32BE(1)
      if (end > MOST_BYTES) return 'does not speak as PostgreSQL does.'
      if (this.#unread.length < end) return null
      const message = this.#unread.subarray(0, end)
      this.#unread = this.#unread.subarray(end)
      const refusal = message[0] === AUTHENTICATION ? this.#judge(message) : null
      if (refusal !== null) return refusal
    }
    return null
  }

  #judge(message: Buffer): string | null {
    const code = message.length < HEADER_BYTES + 4 ? -1 : message.readUInt32BE(HEADER_BYTES)
    switch (code) {
      case CLEARTEXT:
        return `asks for the password in clear text, and was not told it. ${REMEDY}`
      case MD5:
        return `asks for the password by MD5, which is as good as telling it, and was not told it. ${REMEDY}`
      case SCRAM:
        return null
      case SCRAM_CHALLENGE: {
        const iterations = Number(/,i=(\d+)/.exec(message.toString('latin1'))?.[1])
        return iterations <= MOST_ITERATIONS ? null : `asks for more than ${MOST_ITERATIONS} rounds of SCRAM.`
      }
      case SCRAM_PROOF:
        this.#isProven = true
        return null
      case OK:
        this.#isOpen = true
        return this.#isProven || !this.#hasPassword
          ? null
          : 'lets us in without asking for the password, so that it may be another one. If it is the one ' +
              'you mean, take the password out of DATABASE_URL.'
      default:
        return `asks for a kind of login that storerank does not have. ${REMEDY}`
    }
  }
}
