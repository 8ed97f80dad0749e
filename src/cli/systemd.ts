/** What systemd takes from a unit: how urgent each line of its journal is, and that the unit is well. */
import { execFile } from 'node:child_process'
import { fstatSync } from 'node:fs'
import { readSupervisor, type Supervisor } from '../config.ts'
import type { Logger } from '../log.ts'
import type { Probe } from '../monitor/server.ts'
import type { Output } from './document.ts'

/** sd-daemon(3) */
const PRIORITIES: Readonly<Record<string, number>> = {
  trace: 7,
  debug: 7,
  info: 6,
  warn: 4,
  error: 3,
  fatal: 2,
}
/** Of a line that is no record of the log: what is wrong. */
const WRONG = 3
/** A unit says that it is well so many times within WatchdogSec. */
const BEATS = 3

/** Whether a file descriptor leads to the journal. */
export function isJournal({ journal }: Supervisor, descriptor = 2): boolean {
  if (journal === null) return false
  const { dev, ino } = fstatSync(descriptor, { bigint: true })
  return journal === `${dev}:${ino}`
}

/** The same output, whose lines begin with their priority. */
export function withPriorities(output: Output): Output {
  const mark = (line: string) => {
    const [, level = ''] = /^\{"level":"(\w+)"/.exec(line) ?? []
    return `<${PRIORITIES[level] ?? WRONG}>${line}`
  }
  const write = (text: string, ...rest: []) => output.write(text.replace(/^.+$/gm, mark), ...rest)
  return Object.create(output, { write: { value: write } })
}

/**
 * The watchdog of a unit (WatchdogSec): a process that is frozen, or whose schedule hangs, says nothing, and
 * systemd restarts it. Node has no datagrams on Unix sockets, so that `systemd-notify` sends them.
 * @returns what ends it; nothing is sent where no watchdog waits for this process
 */
export function startWatchdog(
  isHealthy: Probe,
  log: Logger,
  { watchdogMs }: Supervisor = readSupervisor(),
): Disposable {
  if (watchdogMs === null) return { [Symbol.dispose]: () => {} }
  const beat = async () => {
    if ((await isHealthy()) !== null) return
    execFile('systemd-notify', ['WATCHDOG=1'], (error) => {
      if (error !== null) log.warn({ err: error }, 'the watchdog of systemd could not be told')
    })
  }
  void beat()
  const timer = setInterval(beat, watchdogMs / BEATS).unref()
  return { [Symbol.dispose]: () => clearInterval(timer) }
}
