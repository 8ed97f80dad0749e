/** Receivers of alerts on loopback, as others write them. */
import { createServer, type IncomingHttpHeaders, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import PostalMime, { type Email } from 'postal-mime'
import { SMTPServer } from 'smtp-server'

export interface Received {
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

export interface Receiver {
  readonly url: string
  readonly received: Received[]
  close(): Promise<void>
}

/** @param answer by default 204 */
export async function startReceiver(
  answer: (...args: Parameters<RequestListener>) => void = (_, response) => response.writeHead(204).end(),
): Promise<Receiver> {
  const received: Received[] = []
  const server: Server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (chunk) => {
      body += chunk
    })
    request.on('end', () => {
      received.push({ headers: request.headers, body })
      answer(request, response)
    })
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/hook`,
    received,
    close: () =>
      new Promise((done) => {
        server.closeAllConnections()
        server.close(() => done())
      }),
  }
}

export interface MailServer {
  readonly url: string
  readonly mails: Email[]
  close(): Promise<void>
}

/**
 * @param refusals of the first so many mails
 * @param unknown addresses that it does not take mail for
 */
export async function startMailServer(refusals = 0, unknown: readonly string[] = []): Promise<MailServer> {
  const mails: Email[] = []
  let left = refusals
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS', 'AUTH'],
    onRcptTo({ address }, _session, done) {
      if (unknown.includes(address)) done(Object.assign(new Error('no such person'), { responseCode: 550 }))
      else done()
    },
    onData(stream, _session, done) {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', () => {
        left -= 1
        if (left >= 0) return done(Object.assign(new Error('try again'), { responseCode: 451 }))
        PostalMime.parse(Buffer.concat(chunks)).then((mail) => {
          mails.push(mail)
          done()
        }, done)
      })
    },
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const { port } = server.server.address() as AddressInfo
  return {
    url: `smtp://127.0.0.1:${port}`,
    mails,
    close: () => new Promise((done) => server.close(() => done())),
  }
}
