/**
 * The watchdog of a unit of systemd (WatchdogSec): while the process is well it says so three times as often
 * as it must; when it is frozen or its schedule hangs it says nothing, and systemd restarts it. Node has no
 * datagrams on Unix sockets, so that `systemd-notify`, which comes with systemd, sends them.
 */
import { execFile } from 'node:child_process'
import { readSupervisor, type Supervisor } from '../config.ts'
import type { Logger } from '../log.ts'
import type { Probe } from '../monitor/server.ts'

const TIMES = 3

/** @returns what ends it; nothing is sent where no watchdog waits for this process */
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
  const timer = setInterval(beat, watchdogMs / TIMES).unref()
  return { [Symbol.dispose]: () => clearInterval(timer) }
}
