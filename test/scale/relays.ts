/**
 * The way of one runner to its servers, as a process of its own in the runner's network: relays on loopback
 * to the addresses that are its arguments. It says the ports of them, obeys `cut` and `mend` on its input,
 * and ends with it.
 */
import { createInterface } from 'node:readline'
import { type Address, startRelay } from './relay.ts'

const readAddress = (text: string): Address => {
  const { hostname: host, port } = new URL(`tcp://${text}`)
  return { host, port: Number(port) }
}

const targets = process.argv.slice(2).map(readAddress)
const relays = await Promise.all(targets.map((target) => startRelay('127.0.0.1', target)))
process.stdout.write(`${JSON.stringify(relays.map(({ port }) => port))}\n`)
for await (const line of createInterface({ input: process.stdin })) {
  for (const relay of relays) line === 'cut' ? relay.cut() : relay.mend()
}
process.exit(0)
