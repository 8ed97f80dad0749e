import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { callCommand } from '../support/command.ts'

/** A whole demo, and what interrupts one, are in demo.proof.ts. */
describe('storerank demo refuses', () => {
  test('a folder that holds something else, and leaves it as it is', async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'storerank-demo-'))
    t.after(() => rm(folder, { recursive: true }))
    await writeFile(join(folder, 'holiday.jpg'), '')
    const { code, stderr, stdout } = await callCommand(['demo', '--folder', folder])
    assert.equal(code, 2)
    assert.equal(stdout, '')
    assert.ok(
      stderr.includes(
        `${folder} holds something else than a demo, which is left alone: give an empty folder`,
      ),
    )
    assert.deepEqual(await readdir(folder), ['holiday.jpg'])
  })

  test('a folder that cannot be made, and says why', async () => {
    for (const folder of ['/dev/null/demo', '/proc/demo', '/dev/null']) {
      const { code, stderr } = await callCommand(['demo', '--folder', folder])
      assert.equal(code, 2)
      assert.match(
        stderr,
        /cannot be the folder of a demo: .+ \(E[A-Z]+\)\. Give another one with --folder\./,
      )
    }
  })

  test('more days than its month has, before it makes anything', async () => {
    const folder = join(tmpdir(), `storerank-demo-${process.pid}`)
    const { code, stderr } = await callCommand(['demo', '--folder', folder, '--days', '32'])
    assert.equal(code, 2)
    assert.match(stderr, /whole number from 1 to 31/)
    assert.ok(!existsSync(folder))
  })
})
