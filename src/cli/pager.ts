/** Long results on a terminal go through the person's pager, as those of psql and git do. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Output } from './document.ts'

/** Where LESS is unset: leave at once what fits one screen, cut no line, and leave the text on the screen. */
const LESS_OPTIONS = '-FRSX'
/** What a shell says of a command that it does not find, or may not run. */
const NO_SUCH_PROGRAM = [126, 127]

/** Whether a text needs more lines or columns than the terminal has. */
export function isLarger(text: string, { rows = 24, columns = 80 }: Output): boolean {
  const lines = text.split('\n')
  return lines.length >= (rows || 24) || lines.some((line) => line.length > (columns || 80))
}

/**
 * Shows a text by a pager on the terminal of this process, and waits until the person leaves it.
 * @param pager a command line for the shell
 * @returns false where the pager is not installed: nothing was shown
 */
export async function showByPager(text: string, pager: string): Promise<boolean> {
  if (process.platform === 'win32') return false
  const child = spawn('/bin/sh', ['-c', `LESS="\${LESS-${LESS_OPTIONS}}" ${pager}`], {
    stdio: ['pipe', 'inherit', 'inherit'],
  })
  // A person who leaves early closes the pipe.
  child.stdin.on('error', () => {})
  child.stdin.end(text)
  const [code] = await once(child, 'close')
  return !NO_SUCH_PROGRAM.includes(code)
}
