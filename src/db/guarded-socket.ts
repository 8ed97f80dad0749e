/**
 * A socket that reads the server's messages until the login is done. The drivers send whatever a server asks
 * for: the password in clear text, or as a hash that is as good as the password. Over this socket the
 * password leaves only as SCRAM, and when we have a password the server must prove by SCRAM that it knows it
 * too. Without that proof, a program of another local user on the port of a server that has died would be
 * taken for the server.
 *
 * It is not used with TLS, where the server's certificate is the proof.
 */
import { Socket } from 'node:net'
import { UnavailableError } from '../errors.ts'

/** Codes of an authentication message (PostgreSQL: Message Formats). */
const OK = 0
const CLEARTEXT = 3
const MD5 = 5
const SCRAM = 10
const SCRAM_CHALLENGE = 11
const SCRAM_PROOF = 12

const AUTHENTICATION = 'R'.charCodeAt(0)
const ERROR = 'E'.charCodeAt(0)
const READY = 'Z'.charCodeAt(0)
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

/** Of this message the server says nothing: it ends the connection (PostgreSQL: Message Formats). */
const CANCEL_BYTES = 16
const CANCEL_CODE = 80_877_102

export function isCancel(bytes: unknown): boolean {
  return Buffer.isBuffer(bytes) && bytes.length === CANCEL_BYTES && bytes.readInt32BE(4) === CANCEL_CODE
}

export function describeEarlyEnd(server: string): string {
  return `${server} takes the connection and ends it without an answer`
}

/**
 * A socket on which the end before any answer is an error. A proxy without a server behind it takes each
 * connection and closes it, and postgres.js would connect again at once, for ever.
 */
export class AnsweredSocket extends Socket {
  readonly #server: string
  #isAnswered = false
  #isCancel = false

  constructor(server: string) {
    super()
    this.#server = server
  }

  override _write(bytes: Buffer, encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    if (isCancel(bytes)) this.#isCancel = true
    super._write(bytes, encoding, done)
  }

  /** Node hands over what has arrived by calling this, before any listener sees it. */
  override push(chunk: Buffer | null): boolean {
    if (chunk === null && !this.#isAnswered) return this.endEarly()
    this.#isAnswered = true
    return super.push(chunk)
  }

  protected endEarly(): boolean {
    if (this.#isCancel) return super.push(null)
    this.destroy(Object.assign(new Error(describeEarlyEnd(this.#server)), { code: 'ECONNRESET' }))
    return false
  }
}

export interface Guarded {
  /** How a person knows the server, without secrets. */
  readonly server: string
  readonly hasPassword: boolean
}

export class GuardedSocket extends AnsweredSocket {
  readonly #guarded: Guarded
  #isOpen = false
  /** The login is done, or the server has said why it refuses it. */
  #mayEnd = false
  #isProven = false
  #unread = Buffer.alloc(0)

  constructor(guarded: Guarded) {
    super(guarded.server)
    this.#guarded = guarded
  }

  override push(chunk: Buffer | null): boolean {
    if (chunk === null) return this.#mayEnd ? super.push(chunk) : this.endEarly()
    if (this.#isDone()) return super.push(chunk)
    const refusal = this.#read(chunk)
    if (refusal === null) return super.push(chunk)
    this.destroy(new UnavailableError(`The database server at ${this.#guarded.server} ${refusal}`))
    return false
  }

  #isDone(): boolean {
    return this.#isOpen && this.#mayEnd
  }

  /** The reason not to go on, or null. */
  #read(chunk: Buffer): string | null {
    this.#unread = Buffer.concat([this.#unread, chunk])
    while (!this.#isDone() && this.#unread.length >= HEADER_BYTES) {
      const end = 1 + this.#unread.readUInt32BE(1)
      if (end > MOST_BYTES) return 'does not speak as PostgreSQL does.'
      if (this.#unread.length < end) return null
      const message = this.#unread.subarray(0, end)
      this.#unread = this.#unread.subarray(end)
      const kind = message[0]
      if (kind === ERROR || kind === READY) this.#mayEnd = true
      const refusal = kind === AUTHENTICATION ? this.#judge(message) : null
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
        return this.#isProven || !this.#guarded.hasPassword
          ? null
          : 'lets us in without asking for the password, so that it may be another one. If it is the one ' +
              'you mean, take the password out of DATABASE_URL.'
      default:
        return `asks for a kind of login that storerank does not have. ${REMEDY}`
    }
  }
}
