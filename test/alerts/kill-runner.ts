/**
 * A runner that looks at the rules and delivers what they found, and ends itself by SIGKILL at the place that
 * it is given: the process of test/alerts/kills.proof.ts. The places are all those between two commits: see
 * PLACES there.
 */
import process from 'node:process'
import { pino } from 'pino'
import { deliverChannel } from '../../src/alerts/deliver.ts'
import { runAlerts } from '../../src/alerts/run.ts'
import { send } from '../../src/alerts/send.ts'
import { type Database, openDatabase } from '../../src/db/database.ts'
import { Secret } from '../../src/secret.ts'
import { NO_ALERT_SETTINGS } from '../support/message.ts'

const [, , url = '', secret = '', place = ''] = process.argv
const die = (at: string): void => {
  if (at === place) process.kill(process.pid, 'SIGKILL')
}

/** What the transactions of a look are called; those of a delivery have no name. */
const STEPS: Readonly<Record<string, string>> = {
  'Looking at the rules': 'evaluation',
  'Looking at what goes by the clock': 'clock',
  'Gathering the messages': 'gathering',
  'Enqueueing the channels': 'enqueueing',
}
const stepOf = (name = '') =>
  Object.entries(STEPS).find(([start]) => name.startsWith(start))?.[1] ?? 'composing'

const real = openDatabase(url)
const db: Database = {
  ...real,
  begin: async (work, options) => {
    const name = stepOf(options?.name)
    const result = await real.begin(async (tx) => {
      const done = await work(tx)
      die(`${name}: before its commit`)
      return done
    }, options)
    die(`${name}: after its commit`)
    return result
  },
}
const settings = {
  ...NO_ALERT_SETTINGS,
  privateHosts: ['127.0.0.1'],
  secrets: new Map([['ALERT_OPS', new Secret(secret)]]),
}
const { signal } = new AbortController()
const channels: number[] = []

await runAlerts({
  db,
  settings,
  budget: { maxDayMicros: 5_000_000, maxMonthMicros: null, maxRunMicros: null },
  enqueue: async (_tx, ids) => {
    channels.push(...ids)
  },
  signal,
})
for (const id of channels) {
  const sending: typeof send = async (...args) => {
    die('delivery: before it is sent')
    const refused = await send(...args)
    die('delivery: taken, and not recorded')
    return refused
  }
  await deliverChannel({ db, settings, log: pino({ level: 'silent' }), send: sending }, id, signal)
}
die('delivery: recorded')
await real.close()
