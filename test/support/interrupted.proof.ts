/** A run of tests that is interrupted or killed leaves no process and no file behind. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { until } from './embedded.ts'
import { findProcesses } from './leftovers.ts'

const RUN = join(import.meta.dirname, '..', 'run.ts')
const HANGING = 'test/support/hanging.ts'

describe('a run of tests', () => {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGKILL'] as const) {
    test(`that is ended by ${signal} leaves no process and no file behind`, async (t) => {
      const folder = await mkdtemp(join(tmpdir(), 'storerank-interrupted-'))
      await chmod(folder, 0o755)
      t.after(() => rm(folder, { recursive: true, force: true }))
      const { NODE_TEST_CONTEXT: _, TEST_DATABASE_URL: __, ...inherited } = process.env
      const child = spawn(process.execPath, [RUN, HANGING], { env: { ...inherited, TMPDIR: folder } })
      t.after(() => child.kill('SIGKILL'))
      let said = ''
      for (const stream of [child.stdout, child.stderr]) {
        stream.setEncoding('utf8').on('data', (text: string) => {
          said += text
        })
      }
      const ended = once(child, 'exit')
      await until('the test hangs', () => said.includes('hangs beside'))
      const { length } = await findProcesses([folder])
      assert.ok(length > 5, `the run, its tests, their process and the server: ${length}`)
      child.kill(signal)
      await ended
      await until('nothing is left', async () => {
        const [processes, files] = await Promise.all([findProcesses([folder]), readdir(folder)])
        return processes.length + files.length === 0
      })
    })
  }
})
