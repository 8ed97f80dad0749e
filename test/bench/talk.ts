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
