/**
 * The package as others get it: packed, installed in an empty folder, and used from JavaScript and
 * TypeScript.
 */

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { cp, mkdtemp, readdir, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { promisify } from 'node:util'

import { renderPage } from '../../src/report/page/page.ts'
import { startSandbox } from '../../src/sandbox/server.ts'
import { createReport } from '../support/report.ts'

const PROJECT = join(import.meta.dirname, '../..')
const INSTALL_LIMIT_MS = 180_000

/** What `npm pack` reads. */
const SOURCES = [
  'package.json',
  'README.md',
  'tsconfig.json',
  'tsconfig.build.json',
  'src',
  'jobs',
  'drizzle',
]

const execute = promisify(execFile)

let folder: string

describe('the packed package', { timeout: INSTALL_LIMIT_MS }, () => {
  before(async () => {
    folder = await realpath(await mkdtemp(join(tmpdir(), 'storerank-package-')))
    await execute('npm', ['pack', '--silent', '--pack-destination', folder], { cwd: await copySources() })
    const tarball = (await readdir(folder)).find((name) => name.endsWith('.tgz')) ?? ''
    await writeFile(join(folder, 'package.json'), '{ "private": true, "type": "module" }')
    const quiet = ['--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline']
    await execute('npm', ['install', ...quiet, '--omit=dev', '--omit=optional', `./${tarball}`], {
      cwd: folder,
    })
  })
  after(() => rm(folder, { recursive: true }))

  /** Packing makes `dist` and removes it again, and another proof may pack the project meanwhile. */
  async function copySources(): Promise<string> {
    const project = join(folder, 'project')
    for (const part of SOURCES) await cp(join(PROJECT, part), join(project, part), { recursive: true })
    await symlink(join(PROJECT, 'node_modules'), join(project, 'node_modules'))
    return project
  }

  async function runNode(script: string, ...args: string[]): Promise<string> {
    await writeFile(join(folder, 'use.js'), script)
    return (await execute(process.execPath, ['use.js', ...args], { cwd: folder })).stdout
  }

  test('gives plain JavaScript a client that buys and reads a search', async (t) => {
    const sandbox = await startSandbox({ readyMs: 0 })
    t.after(() => sandbox.close())
    const stdout = await runNode(
      `
      import { AppDataClient } from 'storerank'
      const client = new AppDataClient({ baseUrl: process.argv[2], login: 'sandbox', password: 'sandbox' })
      const task = { tag: 'mine.1', subject: 'yoga', locationCode: 2840, languageCode: 'en', depth: 10 }
      const send = { deadlineMs: performance.now() + 10_000 }
      const posted = await client.postTasks('ios_store', 'app_searches', [task], send)
      const found = await client.getAppSearches('ios_store', posted.answers[0].serviceId)
      console.log(JSON.stringify({ posted, found }))
      await client.close()
      `,
      sandbox.url,
    )
    const { posted, found } = JSON.parse(stdout)
    assert.deepEqual([posted.kind, posted.answers[0].statusCode], ['answered', 20100])
    assert.deepEqual([found.kind, found.data.tag, found.result.keyword], ['done', 'mine.1', 'yoga'])
    assert.equal(found.result.items.length, 10)
  })

  test('refuses a wrong request with a class that can be told apart', async () => {
    const stdout = await runNode(`
      import { AppDataClient, ConfigurationError } from 'storerank'
      const client = new AppDataClient({ baseUrl: 'http://127.0.0.1:9', login: 'a', password: 'b' })
      const error = await client.resendWebhooks([]).catch((reason) => reason)
      console.log(error instanceof ConfigurationError, error.message)
    `)
    assert.match(stdout, /^true .*takes 1 to 100 ids, not 0/)
  })

  test('has types that a strict TypeScript project can use', async () => {
    await writeFile(
      join(folder, 'consumer.ts'),
      `
      import { AppDataClient, type AppSearchesResult, type TaskOutcome } from 'storerank'
      const client = new AppDataClient({ baseUrl: 'https://api.example.com', login: 'me',
        password: 'secret' })
      const outcome: TaskOutcome<AppSearchesResult> = await client.getAppSearches('ios_store', 'some-id')
      if (outcome.kind === 'done') {
        const first = outcome.result?.items[0]
        const title: string | null | undefined = first?.title
        // @ts-expect-error: a rank is a number
        const rank: string | undefined = first?.rank
        console.log(title, rank, outcome.data.languageCode?.length)
      }
      // @ts-expect-error: there is no such store
      await client.listReady('windows_store', 'app_searches')
      `,
    )
    const options = { strict: true, module: 'nodenext', target: 'es2024', noEmit: true, types: ['node'] }
    const compilerOptions = { ...options, typeRoots: [join(PROJECT, 'node_modules/@types')] }
    await writeFile(
      join(folder, 'tsconfig.json'),
      JSON.stringify({ compilerOptions, files: ['consumer.ts'] }),
    )
    const compiler = await realpath(join(PROJECT, 'node_modules/.bin/tsc'))
    const { stdout } = await execute(process.execPath, [compiler], { cwd: folder }).catch((error) => error)
    assert.equal(stdout, '')
  })

  test('has a command line that starts', async () => {
    const command = join(folder, 'node_modules/.bin/storerank')
    const { stdout } = await execute(process.execPath, [await realpath(command), 'run', '--help'], {
      cwd: folder,
    })
    assert.match(stdout, /^Usage: storerank run/)
  })

  test('holds what the page of a report is made of', async () => {
    const page = join(folder, 'node_modules/storerank/dist/src/report/page/page.js')
    const report = await createReport({ seed: 1, keywords: 20, days: 3 })
    await writeFile(join(folder, 'report.json'), JSON.stringify(report))
    const stdout = await runNode(`
      import { readFileSync } from 'node:fs'
      import { renderPage } from ${JSON.stringify(page)}
      console.log(renderPage(JSON.parse(readFileSync('report.json'))))
    `)
    assert.equal(stdout.trim(), renderPage(report).trim())
  })

  test('holds the jobs and the migrations for the command line', async () => {
    const built = join(folder, 'node_modules/storerank/dist')
    const migrations = await readdir(join(PROJECT, 'drizzle'))
    assert.deepEqual(await readdir(join(built, 'drizzle')), migrations)
    assert.ok((await readdir(join(built, 'jobs'))).includes('track.js'))
  })
})

test('in a checkout the library is the TypeScript itself, without a build', async () => {
  const script = "import('storerank').then(({ AppDataClient }) => console.log(AppDataClient.name))"
  const { stdout } = await execute(process.execPath, ['--conditions=storerank-source', '-e', script], {
    cwd: PROJECT,
  })
  assert.equal(stdout, 'AppDataClient\n')
})
