/** docs/architecture.md says which room of src/ imports which, and the code keeps to it. */
import assert from 'node:assert/strict'
import { globSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'

const PROJECT = join(import.meta.dirname, '../..')
const PAGE = readFileSync(join(PROJECT, 'docs/architecture.md'), 'utf8')

/** Of each row of the table of rooms, the rooms that it may import. */
const readRooms = (markdown: string): Map<string, readonly string[]> => {
  const [, table = ''] = /^## Rooms\n(.*?)^## /ms.exec(markdown) ?? []
  const rows = [...table.matchAll(/^\| `(\w+)` \|.*\| ([^|]*)\|$/gm)]
  return new Map(
    rows.map(([, room = '', imports = '']) => [
      room,
      [...imports.matchAll(/`(\w+)`/g)].map(([, name = '']) => name),
    ]),
  )
}

/** Which other rooms the files of a room import, types included, with the file that does. */
const readImports = (room: string): { file: string; imported: string }[] =>
  globSync(`src/${room}/**/*.ts`, { cwd: PROJECT })
    .sort()
    .flatMap((file) => {
      const depth = file.split('/').length - 2
      const paths = readFileSync(join(PROJECT, file), 'utf8').matchAll(
        /(?:from|import\()\s*'((?:\.\.\/)+)(\w+)\//g,
      )
      return [...paths].flatMap(([, up = '', name = '']) =>
        up.length / 3 === depth ? [{ file, imported: name }] : [],
      )
    })

describe('the table of rooms', () => {
  const rooms = readRooms(PAGE)

  test('has a row for every folder of src/', () => {
    const folders = readdirSync(join(PROJECT, 'src'), { withFileTypes: true }).filter((entry) =>
      entry.isDirectory(),
    )
    assert.deepEqual([...rooms.keys()].sort(), folders.map(({ name }) => name).sort())
  })

  for (const [room, allowed] of rooms) {
    test(`names every room that ${room} imports`, () => {
      const strangers = readImports(room).filter(
        ({ imported }) => imported !== room && !allowed.includes(imported),
      )
      assert.deepEqual(strangers, [])
    })
  }

  test('has no circle', () => {
    const left = new Map(rooms)
    for (;;) {
      const free = [...left].filter(([, imports]) => !imports.some((name) => left.has(name)))
      if (free.length === 0) break
      for (const [room] of free) left.delete(room)
    }
    assert.deepEqual([...left.keys()], [])
  })
})
