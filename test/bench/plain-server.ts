/**
 * As much of HTTP/1.1 as a client of a bench needs, over plain sockets: service and client share the cores,
 * and node:http alone takes twice as long as writing an answer that is there. A connection sends its next
 * request when it has the answer to the last one.
 */
import { createServer, type Socket } from 'node:net'

/**
 * What follows the first lines of the head: the rest of the head, and the body, in pieces that are written as
 * they are.
 */
export type Answer = readonly Buffer[]

const HEAD_END = '\r\n\r\n'
const NOT_FOUND = Buffer.from(`HTTP/1.1 404 Not Found\r\nContent-Length: 0${HEAD_END}`)
const SECOND_MS = 1_000

/** The rest of the head of an answer whose body has so many bytes. */
export function endHead(bodyBytes: number): Buffer {
  return Buffer.from(`Content-Type: application/json\r\nContent-Length: ${bodyBytes}${HEAD_END}`)
}

/**
 * Listens on a free port of loopback.
 * @param answer null: there is nothing at that path
 * @returns the URL
 */
export async function servePlainly(answer: (path: string, body: Buffer) => Answer | null): Promise<string> {
  let firstLines = Buffer.alloc(0)
  const tellTime = () => {
    firstLines = Buffer.from(`HTTP/1.1 200 OK\r\nDate: ${new Date().toUTCString()}\r\n`)
  }
  tellTime()
  setInterval(tellTime, SECOND_MS).unref()
  const write = (socket: Socket, pieces: Answer | null) => {
    socket.cork()
    for (const piece of pieces === null ? [NOT_FOUND] : [firstLines, ...pieces]) socket.write(piece)
    socket.uncork()
  }
  const server = createServer({ noDelay: true }, (socket) => {
    let received = Buffer.alloc(0)
    socket.on('error', () => {})
    socket.on('data', (chunk) => {
      received = received.length === 0 ? chunk : Buffer.concat([received, chunk])
      const headBytes = received.indexOf(HEAD_END) + HEAD_END.length
      if (headBytes < HEAD_END.length) return
      const head = received.toString('latin1', 0, headBytes)
      const [, path = ''] = head.split(' ', 2)
      const [, length = '0'] = /\r\ncontent-length: *(\d+)/i.exec(head) ?? []
      if (received.length < headBytes + Number(length)) return
      const body = received.subarray(headBytes)
      received = Buffer.alloc(0)
      write(socket, answer(path, body))
    })
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const { port } = server.address() as { port: number }
  return `http://127.0.0.1:${port}`
}
