/**
 * HTTP as cheap as it can be, so that what sends takes little of the cores that it shares with what is
 * measured: sockets that stay open, a request in one write, and of an answer its status.
 */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

/** Connections to one receiver, each with one request at a time. */
export interface Wire {
  /** Waits for a free connection. Gives the HTTP status; 0 when the connection failed. */
  post(path: string, body: Buffer): Promise<number>
  close(): void
}

const HEAD_END = Buffer.from('\r\n\r\n')
const NOTHING = Buffer.alloc(0)
/** `HTTP/1.1 200` */
const STATUS_FROM = 9
const STATUS_TO = 12

/**
 * Opens all connections at once, for requests that follow at once: the other side ends connections that stand
 * idle. The bodies are gzipped JSON.
 */
export async function openWire(origin: string, connections: number): Promise<Wire> {
  const { hostname, port, host } = new URL(origin)
  const free: Socket[] = []
  const waiting: ((socket: Socket) => void)[] = []
  const release = (socket: Socket) => {
    const next = waiting.shift()
    if (next === undefined) free.push(socket)
    else next(socket)
  }
  const open = async () => {
    const socket = connect({ host: hostname, port: Number(port), noDelay: true })
    await once(socket, 'connect')
    // Who reads an answer is told by the end of the connection.
    socket.on('error', () => {})
    return socket
  }
  const head = `Host: ${host}\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\nContent-Length: `
  for (let count = 0; count < connections; count += 1) free.push(await open())
  return {
    post: async (path, body) => {
      const socket = free.pop() ?? (await new Promise<Socket>((taken) => waiting.push(taken)))
      socket.cork()
      socket.write(`POST ${path} HTTP/1.1\r\n${head}${body.byteLength}\r\n\r\n`, 'latin1')
      socket.write(body)
      socket.uncork()
      const status = await readStatus(socket)
      release(status === 0 ? await open().catch(() => socket) : socket)
      return status
    },
    close: () => {
      for (const socket of free) socket.destroy()
    },
  }
}

/** Reads one answer, whose length its head says. */
function readStatus(socket: Socket): Promise<number> {
  if (socket.destroyed) return Promise.resolve(0)
  return new Promise((answered) => {
    let read: Buffer = NOTHING
    const end = (status: number) => {
      socket.off('data', take).off('close', fail)
      answered(status)
    }
    const fail = () => end(0)
    const take = (chunk: Buffer) => {
      read = read.byteLength === 0 ? chunk : Buffer.concat([read, chunk])
      const headEnd = read.indexOf(HEAD_END)
      if (headEnd < 0) return
      const head = read.toString('latin1', 0, headEnd)
      const length = Number(/^content-length: *(\d+)/im.exec(head)?.[1] ?? 0)
      if (read.byteLength >= headEnd + HEAD_END.byteLength + length) {
        end(Number(head.slice(STATUS_FROM, STATUS_TO)))
      }
    }
    socket.on('data', take).on('close', fail)
  })
}
