/** What stands where a file is written, and who may read what was written. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { lstat, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { writeWholeFile } from '../../src/report/write-file.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'storerank-write-'))
})
afterEach(() => rm(folder, { recursive: true }))

const modeOf = async (file: string) => ((await stat(file)).mode & 0o777).toString(8)

describe('what is no ordinary file is written into', () => {
  test('as a pipe, whose reader gets it, however much it is', async () => {
    const pipe = join(folder, 'pipe')
    execFileSync('mkfifo', [pipe])
    const content = 'a line\n'.repeat(100_000)
    const [read] = await Promise.all([readFile(pipe, 'utf8'), writeWholeFile(pipe, content)])
    assert.equal(read, content)
    assert.ok((await lstat(pipe)).isFIFO())
    assert.deepEqual(await readdir(folder), ['pipe'])
  })

  test('as a link, which stays one, to a file or to none', async () => {
    await mkdir(join(folder, 'kept'))
    const [target, link] = [join(folder, 'kept', 'page.html'), join(folder, 'page.html')]
    await symlink(target, link)
    for (const content of ['first', 'second']) {
      await writeWholeFile(link, content)
      assert.ok((await lstat(link)).isSymbolicLink())
      assert.equal(await readFile(target, 'utf8'), content)
    }
    assert.deepEqual(await readdir(join(folder, 'kept')), ['page.html'])
  })

  test('as a file that is mounted', async (t) => {
    const [outside, mounted] = [join(folder, 'outside'), join(folder, 'mounted')]
    await Promise.all([writeFile(outside, 'old'), writeFile(mounted, '')])
    try {
      execFileSync('mount', ['--bind', outside, mounted], { stdio: 'ignore' })
    } catch {
      return t.skip('mounting takes more rights')
    }
    try {
      await writeWholeFile(mounted, 'new')
    } finally {
      execFileSync('umount', [mounted])
    }
    assert.equal(await readFile(outside, 'utf8'), 'new')
    assert.deepEqual((await readdir(folder)).toSorted(), ['mounted', 'outside'])
  })
})

describe('a new file can be read', () => {
  const write = async (...readers: Parameters<typeof writeWholeFile>[2][]) => {
    const umask = process.umask(0o077)
    try {
      const file = join(folder, 'file')
      await writeWholeFile(file, 'x', ...readers)
      return await modeOf(file)
    } finally {
      process.umask(umask)
    }
  }

  test('by whom the umask leaves', async () => assert.equal(await write(), '600'))

  test('by whoever may read its folder, now and when that is changed', async () => {
    for (const [folderMode, mode] of [
      ['700', '600'],
      ['755', '644'],
      ['2750', '640'],
    ] as const) {
      execFileSync('chmod', [folderMode, folder])
      assert.equal(await write('of folder'), mode)
    }
  })

  test('by the group of its folder', async (t) => {
    try {
      execFileSync('chgrp', ['daemon', folder], { stdio: 'ignore' })
    } catch {
      return t.skip('another group takes more rights')
    }
    await write('of folder')
    assert.equal((await stat(join(folder, 'file'))).gid, (await stat(folder)).gid)
  })

  test('by its owner alone', async () => {
    execFileSync('chmod', ['755', folder])
    assert.equal(await write('nobody'), '600')
  })

  test('and keeps the mode that a person gave it', async () => {
    await writeFile(join(folder, 'file'), 'old')
    execFileSync('chmod', ['640', join(folder, 'file')])
    assert.equal(await write('nobody'), '640')
  })
})
