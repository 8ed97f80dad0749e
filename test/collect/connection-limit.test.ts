import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { limitConnections } from '../../src/collect/receiver.ts'

/** A server that takes two connections; each has shown the secret once it has said anything. */
async function startServer(t: TestContext): Promise<() => Promise<Socket>> {
  const server = createServer()
  const welcome = limitConnections(server, 2)
  server.on('connection', (socket) => {
    socket.on('error', () => undefined)
    socket.on('data', () => {
      welcome(socket)
      socket.write('welcome')
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const sockets: Socket[] = []
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return async () => {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => undefined)
    sockets.push(socket.resume())
    await once(socket, 'connect')
    return socket
  }
}

async function greet(socket: Socket): Promise<Socket> {
  socket.write('secret')
  await once(socket, 'data')
  return socket
}

test('the third connection ends the eldest that has not shown the secret', async (t) => {
  const open = await startServer(t)
  const known = await greet(await open())
  const stranger = await open()
  const ended = once(stranger, 'close')
  const third = await greet(await open())
  await ended
  await greet(known)
  await greet(third)
})

test('those that have shown it are ended by nobody, and the third connection is refused', async (t) => {
  const open = await startServer(t)
  const known = [await greet(await open()), await greet(await open())]
  await once(await open(), 'close')
  for (const socket of known) await greet(socket)
})
