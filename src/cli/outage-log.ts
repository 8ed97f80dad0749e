/** A log in which an outage of the database is two sentences, however many jobs meet it. */
import { setTimeout as sleep } from 'node:timers/promises'
import { UnavailableError } from '../errors.ts'
import type { Logger } from '../log.ts'
import { describeTrouble } from '../trouble.ts'

/** An outage is over when the database answers, and nothing has met trouble for so long. */
const CALM_MS = 5_000

/** @param ask resolves when the database answers, and can write */
export function createOutageLog(log: Logger, ask: () => Promise<unknown>, calmMs = CALM_MS): Logger {
  let isOutage = false
  let troubleAtMs = 0

  const isOver = async () => {
    if (performance.now() - troubleAtMs < calmMs) return false
    return ask().then(
      () => true,
      () => false,
    )
  }
  const waitForEnd = async () => {
    do await sleep(calmMs, undefined, { ref: false })
    while (!(await isOver()))
    isOutage = false
    log.info('the database is back')
  }
  const note = (trouble: UnavailableError) => {
    troubleAtMs = performance.now()
    if (isOutage) return
    isOutage = true
    log.warn({ reason: trouble.message }, 'the database is away; the work goes on when it is back')
    void waitForEnd()
  }
  const write = (level: 'warn' | 'error') => ({
    value: (record: unknown, ...rest: string[]) => {
      const { err } = record as { err?: unknown }
      const trouble = describeTrouble(err)
      if (trouble instanceof UnavailableError) note(trouble)
      log[trouble instanceof UnavailableError ? 'debug' : level](record, ...rest)
    },
  })
  return Object.create(log, { warn: write('warn'), error: write('error') })
}
