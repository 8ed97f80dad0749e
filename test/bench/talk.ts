/** A process of a bench that is asked by messages, and answers each with one. It ends with the bench. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import process from 'node:process'

export interface Partner {
  readonly pid: number
  /** The next message of it. */
  listen<Answer>(): Promise<Answer>
  ask<Answer>(question: unknown): Promise<Answer>
  end(): void
}

/** @param file in this folder */
export function startPartner(file: string, options: readonly string[] = []): Partner {
  const child = fork(join(import.meta.dirname, file), [...options], { execArgv: [] })
  const ended = once(child, 'exit').then(() => Promise.reject(new Error(`${file} has ended.`)))
  ended.catch(() => {})
  const listen = async () => (await Promise.race([once(child, 'message'), ended]))[0]
  return {
    pid: child.pid ?? 0,
    listen,
    ask: (question) => {
      child.send(question as object)
      return listen()
    },
    end: () => child.kill(),
  }
}

/** The same in the process itself: answers each message. */
export function answerMessages<Question>(work: (question: Question) => unknown): void {
  process.on('message', async (question) => process.send?.(await work(question as Question)))
  process.on('disconnect', () => process.exit(0))
}
