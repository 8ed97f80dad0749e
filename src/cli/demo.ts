/** What `storerank demo` does: a month lived through by the real jobs against a sandbox of its own. */
import { rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { JOBS } from '../../jobs/index.ts'
import { openDatabase } from '../db/database.ts'
import { migrate } from '../db/migrate.ts'
import { liveThrough, type MonthContext } from '../demo/month.ts'
import { EVENTS, type StoryDay, tellStory } from '../demo/story.ts'
import { claimDatabaseFor } from '../ledger/owner.ts'
import { recordOrigin } from '../ledger/restored.ts'
import { writeReports } from '../report/write-reports.ts'
import { STORES_AS_SOLD } from '../service/dialect.ts'
import type { CommandContext } from './command.ts'
import { openDemoFolder, show } from './demo-folder.ts'
import { type DemoSummary, describeDemo, readDemo } from './demo-report.ts'
import type { Document } from './document.ts'
import { createProgress, type Progress } from './progress.ts'
import { startPrivateSandbox } from './sandbox-process.ts'
import { warn } from './tell.ts'

/** Deliveries need no account that others use, so the limits of one are out of the way. */
const SANDBOX = { port: 0, readyMs: 0, balanceUsd: 1000 }
const BAR_CELLS = 30

interface DemoOptions {
  /** Default: beside the home. */
  readonly folder?: string
  readonly seed: number
  /** Against the service as it is sold. */
  readonly asSold: boolean
  /** Of the month. */
  readonly days: number
}

export async function makeDemo(options: DemoOptions, caller: CommandContext): Promise<Document> {
  const context = { ...caller, log: quiet(caller) }
  const folder = resolve(options.folder ?? `${context.config.home}-demo`)
  const progress = createProgress({ ...context, log: caller.log })
  const began = performance.now()
  progress.phase('making a database')
  const demo = await openDemoFolder(folder).catch((error) => {
    progress.stop()
    throw error
  })
  try {
    if (demo.wasInterrupted) progress.done('an earlier demo was interrupted here; it begins anew')
    const story = tellStory(options.days)
    await make(demo.url, folder, story, options, context, progress)
    const summary = await writePages(demo.url, folder, context)
    await demo.finish()
    progress.done(`a month in ${Math.round((performance.now() - began) / 1000)} s`)
    const days = story.map(({ day }) => day)
    return { parts: describeDemo({ ...summary, folder: show(folder), days }) }
  } finally {
    progress.stop()
    await demo.close()
    if (context.signal.aborted) warn(context, 'Stopped. What was made of the demo is removed.')
  }
}

/** The trouble of the story belongs to it, and is no news to the person at the terminal. */
function quiet({ log }: CommandContext) {
  return log.level === 'info' || log.level === 'warn' ? log.child({}, { level: 'error' }) : log
}

async function make(
  url: string,
  folder: string,
  story: readonly StoryDay[],
  { seed, asSold }: DemoOptions,
  context: CommandContext,
  progress: Progress,
): Promise<void> {
  await migrate(url)
  const db = openDatabase(url, { maxConnections: 1 })
  await claimDatabaseFor(db, 'the sandbox').finally(() => db.close())
  const sandbox = await startPrivateSandbox(folder, { ...SANDBOX, seed, asSold, events: [...EVENTS] })
  const month: MonthContext = {
    url,
    sandbox: asSold ? { ...sandbox, stores: STORES_AS_SOLD } : sandbox,
    jobs: JOBS,
    settings: { ...context.config, reports: null },
    log: context.log,
    signal: context.signal,
  }
  try {
    progress.phase('living through the month')
    await liveThrough(month, story, (index) => {
      const done = Math.round((BAR_CELLS * index) / story.length)
      const bar = `${'█'.repeat(done)}${'░'.repeat(BAR_CELLS - done)}`
      const day = story[index]?.day ?? ''
      progress.update(`${bar} ${day}`, { day, of: story.length })
    })
  } finally {
    await sandbox.dispose()
  }
}

/** Written anew: the pages of an earlier demo say something else, and may be of the same slots. */
async function writePages(url: string, folder: string, { signal }: CommandContext): Promise<DemoSummary> {
  const pages = join(folder, 'reports')
  await rm(pages, { recursive: true, force: true })
  const db = openDatabase(url)
  try {
    // From here on the database is worked with by other commands, at another place of its own.
    await recordOrigin(db.sql)
    await writeReports(db, { folder: pages, title: null, logo: null }, signal)
    return await readDemo(db)
  } finally {
    await db.close()
  }
}
