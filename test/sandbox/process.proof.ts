import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, type TestContext, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { attachSandbox } from '../../src/cli/sandbox-process.ts'
import { authorize, type Json, USA } from './caller.ts'

/** Leaves by itself soon after a test that forgot it. */
const IDLE_EXIT_MS = 20_000

const greet = async (url: string): Promise<Json> => (await fetch(url)).json()

/** Ends a process and waits until it is gone: within 10 seconds or the test fails. */
const kill = async (pid: number, signal: NodeJS.Signals) => {
  const deadlineMs = performance.now() + 10_000
  process.kill(pid, signal)
  while (performance.now() < deadlineMs) {
    try {
      process.kill(pid, 0)
    } catch {
      return
    }
    await delay(20)
  }
  assert.fail(`process ${pid} is still here`)
}

/** A fresh home that does not exist yet; its sandbox is ended with the test. */
const openHome = async (t: TestContext): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'sandbox home '))
  const home = join(folder, 'deep', 'home')
  t.after(async () => {
    const { pid, url, instance } = JSON.parse(readFileSync(join(home, 'sandbox.json'), 'utf8'))
    const running = await greet(url).catch(() => undefined)
    if (running?.instance === instance) await kill(pid, 'SIGKILL')
    await rm(folder, { recursive: true })
  })
  return home
}

const attach = async (t: TestContext, home: string, idleExitMs = IDLE_EXIT_MS) => {
  const attached = await attachSandbox({ home, idleExitMs })
  t.after(attached.dispose)
  return attached
}

const postOne = async ({
  url,
  login,
  password,
}: {
  url: string
  login: string
  password: string
}): Promise<Json> => {
  const response = await fetch(`${url}/v3/app_data/ios_store/app_info/task_post`, {
    method: 'POST',
    headers: { authorization: authorize(login, password), 'content-type': 'application/json' },
    body: JSON.stringify([{ app_id: '1480010017', location_code: USA }]),
  })
  return ((await response.json()) as Json).tasks[0]
}

describe('the sandbox as a process', () => {
  test('has nothing of the environment of who started it', {
    skip: process.platform !== 'linux' && 'only Linux shows the environment of a process',
  }, async (t) => {
    Object.assign(process.env, {
      DATABASE_URL: 'postgres://me:hush@db/ranks',
      POSTBACK_URL: 'https://ranks/hush',
    })
    t.after(() => {
      delete process.env.DATABASE_URL
      delete process.env.POSTBACK_URL
    })
    const home = await openHome(t)
    await attach(t, home)
    const { pid } = JSON.parse(readFileSync(join(home, 'sandbox.json'), 'utf8'))
    assert.equal(readFileSync(`/proc/${pid}/environ`, 'utf8'), '')
  })

  test('two that attach at once get the same process, which is not their own', async (t) => {
    const home = await openHome(t)
    const [left, right] = await Promise.all([attach(t, home), attach(t, home)])
    assert.equal(left.url, right.url)
    const [one, two] = await Promise.all([greet(left.url), greet(right.url)])
    assert.equal(one.instance, two.instance)
    assert.notEqual(one.pid, process.pid)
  })

  test('two processes that attach at once get the same sandbox', async (t) => {
    const home = await openHome(t)
    const program = new URL('../../src/cli/sandbox-process.ts', import.meta.url).href
    const code = `const { attachSandbox } = await import(${JSON.stringify(program)})
      const { url } = await attachSandbox({ home: ${JSON.stringify(home)}, idleExitMs: ${IDLE_EXIT_MS} })
      console.log((await (await fetch(url)).json()).instance)`
    const run = () => text(spawn(process.execPath, ['--input-type=module', '-e', code]).stdout)
    const [left, right] = await Promise.all([run(), run()])
    assert.match(left, /^[0-9a-f-]{36}\n$/)
    assert.equal(left, right)
  })

  test('after kill -9 the next one starts at once and knows every task', async (t) => {
    const home = await openHome(t)
    const before = await attach(t, home)
    const posted = await postOne(before)
    assert.equal(posted.status_code, 20100)
    await kill((await greet(before.url)).pid, 'SIGKILL')
    const after = await attach(t, home)
    const response = await fetch(
      `${after.url}/v3/app_data/ios_store/app_info/task_get/advanced/${posted.id}`,
      { headers: { authorization: authorize(after.login, after.password) } },
    )
    const [task] = ((await response.json()) as Json).tasks
    assert.ok([20000, 40601, 40602].includes(task.status_code), task.status_message)
  })

  test('it leaves when nobody has used it for a while, and in order on SIGTERM', async (t) => {
    const home = await openHome(t)
    const idle = await attachSandbox({ home, idleExitMs: 300 })
    const { pid } = await greet(idle.url)
    await idle.dispose()
    const deadlineMs = performance.now() + 20_000
    const isHere = () => {
      try {
        return process.kill(pid, 0)
      } catch {
        return false
      }
    }
    while (isHere() && performance.now() < deadlineMs) await delay(20)
    assert.equal(isHere(), false)
    const next = await attach(t, home)
    await kill((await greet(next.url)).pid, 'SIGTERM')
  })

  test('a stranger on the announced port is not mistaken for the sandbox', async (t) => {
    const [home, other] = [await openHome(t), await openHome(t)]
    const first = await attach(t, home)
    await kill((await greet(first.url)).pid, 'SIGKILL')
    const stranger = await attach(t, other)
    const again = await attach(t, home)
    assert.notEqual(again.url, stranger.url)
  })

  test('a sandbox that cannot start says why', async (t) => {
    const home = await openHome(t)
    const attached = await attach(t, home)
    await kill((await greet(attached.url)).pid, 'SIGKILL')
    writeFileSync(join(home, 'sandbox.jsonl'), 'no json\n')
    await assert.rejects(
      attachSandbox({ home }),
      /does not start: .*sandbox\.jsonl is damaged at byte 0: mend or remove it\. Its log: /,
    )
  })
})
