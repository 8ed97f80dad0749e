/** A real browser: the Chromium of this machine, without a window and without a network of its own. */
import { accessSync, constants, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { delimiter, join } from 'node:path'
import type { TestContext } from 'node:test'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']

/** Without a sandbox, which root has not; and nothing that Chromium does for itself. */
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

const executablePath = findChromium()

/** What a test that needs a browser is skipped with where there is none; false where there is. */
export const noBrowser: string | false =
  executablePath === undefined && `there is no Chromium here: install one of ${NAMES.join(', ')}`

export function launchBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: executablePath ?? '', args: FLAGS })
}

export interface Visit {
  readonly page: Page
  /**
   * What the console said of warnings and errors, errors of scripts, and requests for anything but the file
   * itself.
   */
  readonly complaints: string[]
}

/** Opens a file as a person would, from the disk; it is closed with the test. */
export async function visit(
  t: TestContext,
  browser: Browser,
  file: string,
  options: BrowserContextOptions = {},
): Promise<Visit> {
  const context = await browser.newContext(options)
  t.after(() => context.close())
  const page = await context.newPage()
  const complaints: string[] = []
  page.on('console', (message) => {
    if (['warning', 'error'].includes(message.type())) complaints.push(`console: ${message.text()}`)
  })
  page.on('pageerror', (error) => complaints.push(`script: ${error.message}`))
  page.on('request', (request) => {
    if (request.url() !== `file://${file}`) complaints.push(`request: ${request.url()}`)
  })
  await page.goto(`file://${file}`)
  return { page, complaints }
}

function findChromium(): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter)
  return folders.flatMap((folder) => NAMES.map((name) => join(folder, name))).find(isExecutable)
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** What axe-core finds, as rule and element. */
export async function findBarriers(page: Page): Promise<string[]> {
  await page.evaluate(readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8'))
  return page.evaluate(async () => {
    const { axe } = globalThis as unknown as {
      axe: { run(): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> }
    }
    const { violations } = await axe.run()
    return violations.map(
      ({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 120)).join(' | ')}`,
    )
  })
}
