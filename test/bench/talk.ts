/**
 * A process of a bench that is asked by lines of JSON, and answers each with a line. It ends with the bench,
 * which holds its input.
 */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

export interface Partner {
  readonly pid: number
  /** The next line of it. */
  listen<Answer>(): Promise<Answer>
  ask<Answer>(question: unknown): Promise<Answer>
  end(): void
}

/** @param file in this folder */
export function startPartner(file: string, options: readonly string[] = []): Partner {
  const child = spawn(process.execPath, [join(import.meta.dirname, file), ...options], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const listen = async () => {
    const { value, done } = await lines.next()
    if (done) throw new Error(`${file} has ended.`)
    return JSON.parse(value)
  }
  return {
    pid: child.pid ?? 0,
    listen,
    ask: (question) => {
      child.stdin.write(`${JSON.stringify(question)}\n`)
      return listen()
    },
    end: () => child.kill(),
  }
}

export interface Lines {
  next<Question>(): Promise<Question>
  say(line: unknown): void
  /** Answers each line, and ends the process with its input. */
  answer<Question>(work: (question: Question) => unknown): Promise<never>
}

/** The same in the process itself. */
export function answerLines(): Lines {
  const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]()
  const say = (line: unknown) => process.stdout.write(`${JSON.stringify(line)}\n`)
  return {
    next: async () => JSON.parse((await lines.next()).value ?? '[]'),
    say,
    answer: async (work) => {
      for await (const line of { [Symbol.asyncIterator]: () => lines }) say(await work(JSON.parse(line)))
      process.exit(0)
    },
  }
}
