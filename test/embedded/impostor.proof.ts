/** Another local user who listens on the port of an embedded server that has died learns nothing. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFile, realpath, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { answers, attach, killServer, makeHome, startUser } from '../support/embedded.ts'
import { authentication, startImpostor } from '../support/impostor.ts'

/** No system gives out so high a number. */
const NOBODY = 2 ** 22

/** A port outside the embedded servers' own, where no client of a server of another test still knocks. */
async function reservePort(): Promise<number> {
  const listener = createServer().listen(0, '127.0.0.1')
  await once(listener, 'listening')
  const { port } = listener.address() as AddressInfo
  listener.close()
  await once(listener, 'close')
  return port
}

/** A home whose server and user were killed, and whose lock file has the number of a process. */
async function crash(t: TestContext, pid: number) {
  const home = await makeHome(t)
  await writeFile(join(home, 'postgres', 'port'), String(await reservePort()))
  const user = await startUser(home)
  await killServer(home, user.url)
  user.child.kill('SIGKILL')
  await once(user.child, 'exit')
  const lockFile = join(await realpath(join(home, 'postgres')), 'data', 'postmaster.pid')
  const lines = (await readFile(lockFile, 'utf8')).split('\n')
  await writeFile(lockFile, [pid, ...lines.slice(1)].join('\n'))
  return { home, port: Number(new URL(user.url).port) }
}

for (const [says, message] of [
  ['asks for the password in clear text', authentication(3)],
  ['lets everybody in', authentication(0)],
] as const) {
  test(`a server on its port that ${says}`, async (t) => {
    const { home, port } = await crash(t, NOBODY)
    const impostor = await startImpostor(t, [message], { port })
    const next = await attach(t, home)
    assert.notEqual(Number(new URL(next.url).port), port)
    assert.equal(await answers(next.url), true)
    assert.deepEqual([...new Set(impostor.heard())], [''])
  })
}

test('a server on its port is not even asked when its process is certainly another one', {
  skip: process.platform !== 'linux' && 'only Linux tells what a process works on',
}, async (t) => {
  const { home, port } = await crash(t, process.pid)
  const impostor = await startImpostor(t, [authentication(3)], { port })
  const next = await attach(t, home)
  assert.equal(await answers(next.url), true)
  assert.deepEqual(impostor.heard(), [])
})
