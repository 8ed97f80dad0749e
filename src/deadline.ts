/**
 * A time limit of one piece of work, as a signal. `AbortSignal.timeout` keeps its timer, and all that listens
 * to it, until the time is over, also when the work has long ended: a runner would hold every job and batch
 * of the last minutes.
 */
export interface Deadline extends Disposable {
  /** Aborted when the time is over, unless the deadline was disposed of before. */
  readonly signal: AbortSignal
}

/**
 * Starts the time. The timer keeps no process alive.
 * @param what the sentence of the error with which the signal is aborted; its name is TimeoutError
 */
export function startDeadline(ms: number, what: string): Deadline {
  const over = new AbortController()
  const timer = setTimeout(() => over.abort(new DOMException(what, 'TimeoutError')), ms).unref()
  return { signal: over.signal, [Symbol.dispose]: () => clearTimeout(timer) }
}
