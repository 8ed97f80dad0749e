/** docs/architecture.md says which room of src/ imports which, and the code keeps to it. */
import assert from 'node:assert/strict'
import { globSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, test } from 'node:test'

const PROJECT = join(import.meta.dirname, '../..')
const PAGE = readFileSync(join(PROJECT, 'docs/architecture.md'), 'utf8')

/** Of each row of the table of rooms, the rooms that it may import. */
const readRooms = (markdown: string): Map<string, readonly string[]> => {
  const [, table = ''] = /^## Rooms\n(.*?)^## /ms.exec(markdown) ?? []
  const rows = table.matchAll(/^\| `(\w+)` \|.*\| ([^|]*)\|$/gm)
  return new Map([...rows].map(([, room = '', imports = '']) => [room, imports.match(/\w+/g) ?? []]))
}

/** Of each file, the files that it imports, types included, however: at its beginning, or while it works. */
const readFileImports = (): Map<string, readonly string[]> => {
  const files = globSync('{src,jobs}/**/*.ts', { cwd: PROJECT }).sort()
  return new Map(
    files.map((file) => {
      const text = readFileSync(join(PROJECT, file), 'utf8')
      const paths = [...text.matchAll(/(?:from|import\()\s*'(\.[^']+)'/g)].map(([, path = '']) => path)
      return [file, paths.map((path) => join(dirname(file), path)).filter((path) => files.includes(path))]
    }),
  )
}

const imports = readFileImports()
/** The folder of src/ in which a file stands; undefined of the others. */
const roomOf = (file: string) => /^src\/(\w+)\//.exec(file)?.[1]

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
      const strangers = [...imports].flatMap(([file, paths]) =>
        roomOf(file) !== room
          ? []
          : paths
              .filter((path) => ![room, ...allowed, undefined].includes(roomOf(path)))
              .map((path) => [file, path]),
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

/** A way from a file back to itself, for each file that has one. */
const findCircles = (imports: ReadonlyMap<string, readonly string[]>): string[] => {
  const done = new Set<string>()
  const circles: string[] = []
  const visit = (file: string, way: readonly string[]) => {
    if (way.includes(file)) circles.push([...way.slice(way.indexOf(file)), file].join(' → '))
    if (way.includes(file) || done.has(file)) return
    for (const imported of imports.get(file) ?? []) visit(imported, [...way, file])
    done.add(file)
  }
  for (const file of imports.keys()) visit(file, [])
  return circles
}

describe('files', () => {
  test('import each other in no circle', () => {
    assert.deepEqual(findCircles(imports), [])
  })

  test('of src/ itself import no room but the service, so that every room may import them', () => {
    const own = [...imports].filter(([file]) => dirname(file) === 'src' && file !== 'src/index.ts')
    const rooms = own.flatMap(([file, paths]) =>
      paths
        .filter((path) => !['src', 'src/service'].includes(dirname(path)))
        .map((path) => `${file} → ${path}`),
    )
    assert.deepEqual(rooms, [])
  })

  test('in a circle are found', () => {
    const circle = new Map([
      ['a', ['b']],
      ['b', ['c', 'd']],
      ['c', ['b']],
      ['d', []],
    ])
    assert.deepEqual(findCircles(circle), ['b → c → b'])
  })
})
