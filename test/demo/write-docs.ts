/**
 * `npm run questions`: makes the month of the demo in a folder of its own, and writes what the documentation
 * shows of it: the answers in docs/questions.md and, where there is a browser, the picture docs/report.png. A
 * proof compares the answers.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import postgres from 'postgres'
import { attachEmbedded } from '../../src/embedded/attach.ts'
import { launchBrowser, noBrowser } from '../support/browser.ts'
import { answerQuestions } from './questions.ts'

const PROJECT = join(import.meta.dirname, '../..')
const PAGE = join(PROJECT, 'docs/questions.md')
const PICTURE = join(PROJECT, 'docs/report.png')
/** The summary and the first charts; less than 200 KB. */
const SHOWN = { width: 1200, height: 1190 }
const SCALE = 0.85
const HIDDEN = '#movers'

const folder = mkdtempSync(join(tmpdir(), 'storerank-docs-'))
const home = join(folder, 'demo')
try {
  const made = spawnSync(
    process.execPath,
    [join(PROJECT, 'src/cli/storerank.js'), 'demo', '--folder', home],
    { stdio: ['ignore', 'ignore', 'inherit'] },
  )
  if (made.status !== 0) throw new Error('The demo could not be made.')
  const server = await attachEmbedded({ home, database: 'storerank_sandbox' })
  const sql = postgres(server.url, { max: 1, onnotice: () => {} })
  writeFileSync(PAGE, await answerQuestions(readFileSync(PAGE, 'utf8'), sql))
  await sql.end()
  await server.dispose()
  if (noBrowser) process.stdout.write(`No picture: ${noBrowser}.\n`)
  else await takePicture(join(home, 'reports/fitness.html'))
} finally {
  // For root the server may live elsewhere, behind a link.
  const cluster = existsSync(home) ? realpathSync(join(home, 'postgres')) : home
  for (const path of [cluster, folder]) rmSync(path, { recursive: true, force: true })
}

async function takePicture(file: string): Promise<void> {
  const browser = await launchBrowser()
  const page = await browser.newPage({ viewport: SHOWN, deviceScaleFactor: SCALE, colorScheme: 'light' })
  await page.goto(`file://${file}`)
  await page.locator(HIDDEN).evaluate((element) => element.setAttribute('hidden', ''))
  await page.screenshot({ path: PICTURE })
  await browser.close()
}
