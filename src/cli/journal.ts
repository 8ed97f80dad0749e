/** What systemd's journal takes of a line beside its text: how urgent it is (sd-daemon(3)). */
import { fstatSync } from 'node:fs'
import type { Supervisor } from '../config.ts'
import type { Output } from './document.ts'

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

/** Whether a file descriptor leads to the journal. */
export function isJournal({ journal }: Supervisor, descriptor = 2): boolean {
  if (journal === null) return false
  const { dev, ino } = fstatSync(descriptor, { bigint: true })
  return journal === `${dev}:${ino}`
}

/** The same output, whose lines begin with their priority. */
export function withPriorities(output: Output): Output {
  const write = (text: string, ...rest: []) => output.write(markLines(text), ...rest)
  return Object.create(output, { write: { value: write } })
}

function markLines(text: string): string {
  return text.replace(/^.+$/gm, (line) => `<${priorityOf(line)}>${line}`)
}

function priorityOf(line: string): number {
  const [, level = ''] = /^\{"level":"(\w+)"/.exec(line) ?? []
  return PRIORITIES[level] ?? WRONG
}
