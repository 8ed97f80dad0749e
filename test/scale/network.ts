/**
 * Networks of runners: each runner reaches the servers by a way of its own, which can be cut. With the rights
 * for it each runner has a network namespace, and the way is a pair of virtual interfaces between two
 * namespaces that know no other network. Without, the way is a relay on loopback that passes nothing while it
 * is cut. Nothing is left of either when the processes have ended.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { type Address, startRelay } from './relay.ts'

export interface Way {
  /** The ports of the servers on the loopback of this runner, in their order. */
  readonly ports: readonly number[]
  /** What stands before the command of a process that is to run in this network. */
  readonly prefix: readonly string[]
  /** Nothing passes until it is mended; no end of it is told. */
  cut(): Promise<void>
  mend(): Promise<void>
  end(): void
}

export type NetworkKind = 'namespaces' | 'relays'

const RELAYS = fileURLToPath(new URL('./relays.ts', import.meta.url))
const run = promisify(execFile)
/** Of the addresses for private networks: a network of its own for each pair. */
const addressOf = (place: number, end: 1 | 2) => `10.77.${place}.${end}`

/** Whether this process may make network namespaces, and has the programs for it. */
export async function mayMakeNamespaces(): Promise<boolean> {
  if (process.getuid?.() !== 0) return false
  const trial =
    'ip link set lo up && ip link add near1 type veth peer name far1 && nsenter ' +
    '--net=/proc/self/ns/net -- true'
  return run('unshare', ['--net', '--', 'sh', '-c', trial]).then(
    () => true,
    () => false,
  )
}

/** Runs this program again in a network namespace of its own, in which there is only loopback. */
export async function enterNamespace(args: readonly string[]): Promise<number> {
  const [, script = ''] = process.argv
  const command = 'ip link set lo up && exec "$0" "$@"'
  const inside = spawn('unshare', ['--net', '--', 'sh', '-c', command, process.execPath, script, ...args], {
    stdio: 'inherit',
  })
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, () => inside.kill(name))
  return new Promise((resolve) => inside.once('exit', (code) => resolve(code ?? 1)))
}

/** @param place from 1 */
export function openWay(kind: NetworkKind, place: number, servers: readonly Address[]): Promise<Way> {
  return kind === 'relays' ? openRelays(servers) : openPair(place, servers)
}

async function openRelays(servers: readonly Address[]): Promise<Way> {
  const { child, ports } = await startRelays([], servers)
  const tell = async (line: string) => {
    child.stdin?.write(`${line}\n`)
  }
  return { ports, prefix: [], cut: () => tell('cut'), mend: () => tell('mend'), end: () => child.kill() }
}

async function openPair(place: number, servers: readonly Address[]): Promise<Way> {
  const near = `runner${place}`
  const [here, there] = [addressOf(place, 1), addressOf(place, 2)]
  const waiting = spawn('unshare', ['--net', '--', 'sh', '-c', 'ip link set lo up && echo && exec cat'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  await nextLine(waiting)
  const inside = ['nsenter', `--net=/proc/${waiting.pid}/ns/net`, '--']
  await run('ip', ['link', 'add', near, 'type', 'veth', 'peer', 'name', 'far', 'netns', String(waiting.pid)])
  await run('ip', ['address', 'add', `${here}/30`, 'dev', near])
  await run('ip', ['link', 'set', near, 'up'])
  await runIn(inside, ['ip', 'address', 'add', `${there}/30`, 'dev', 'far'])
  await runIn(inside, ['ip', 'link', 'set', 'far', 'up'])
  // The servers listen on loopback alone.
  const offered = await Promise.all(servers.map((server) => startRelay(here, server)))
  const { child, ports } = await startRelays(inside, offered)
  const set = (state: 'up' | 'down') => async () => {
    await run('ip', ['link', 'set', near, state])
  }
  return {
    ports,
    prefix: inside,
    cut: set('down'),
    mend: set('up'),
    end: () => {
      child.kill()
      waiting.kill()
    },
  }
}

async function startRelays(prefix: readonly string[], targets: readonly Address[]) {
  const [command = '', ...args] = [
    ...prefix,
    process.execPath,
    RELAYS,
    ...targets.map(({ host, port }) => `${host}:${port}`),
  ]
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  return { child, ports: JSON.parse(await nextLine(child)) as number[] }
}

async function runIn(prefix: readonly string[], command: readonly string[]): Promise<void> {
  const [program = '', ...args] = [...prefix, ...command]
  await run(program, args)
}

async function nextLine(child: ChildProcess): Promise<string> {
  if (child.stdout === null) throw new Error('The process has no output.')
  for await (const line of createInterface({ input: child.stdout })) return line
  throw new Error('A process of the network has ended before it was ready.')
}
