/** A month lived through by the real jobs against a sandbox of its own. */
import { rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { JOBS } from '../../../jobs/index.ts'
import { openDatabase } from '../../db/database.ts'
import { migrate } from '../../db/migrate.ts'
import { MONTH_DAYS } from '../../demo/days.ts'
import { liveThrough } from '../../demo/month.ts'
import { EVENTS, type StoryDay, tellStory } from '../../demo/story.ts'
import { claimDatabaseFor, recordOrigin } from '../../ledger/restored.ts'
import { writeReports } from '../../report/write-reports.ts'
import { STORES_AS_SOLD } from '../../service/dialect.ts'
import { type CommandContext, command, flag, option, usually } from '../command.ts'
import { makeInFolder, show } from '../demo-folder.ts'
import { type DemoSummary, describeDemo, readDemo } from '../demo-report.ts'
import { wholeNumber } from '../option-values.ts'
import { createProgress, type Progress } from '../progress.ts'
import { startPrivateSandbox } from '../sandbox-process.ts'
import { warn } from '../tell.ts'

/** Deliveries need no account that others use, so the limits of one are out of the way. */
const SANDBOX = { port: 0, readyMs: 0, balanceUsd: 1000, events: [...EVENTS] }
const BAR_CELLS = 30

export const demo = command({
  group: 'Set up',
  summary: 'live through a month on a database and a sandbox of its own, and write its report',
  options: {
    folder: option('<folder>', 'where it lives (default: .storerank-demo)'),
    seed: usually(1, option('<number>', 'the same seed gives the same month', wholeNumber(0, 2 ** 31 - 1))),
    days: usually(MONTH_DAYS, option('<number>', 'only its first days', wholeNumber(1, MONTH_DAYS))),
    asSold: flag('against the service as it is sold, instead of its specification'),
  },
  examples: ['storerank demo --seed 7'],
  run: async ({ folder: given, seed, days, asSold }, caller) => {
    // The trouble of the story belongs to it, and is no news to the person at the terminal.
    const isTold = caller.log.level === 'info' || caller.log.level === 'warn'
    const context = isTold ? { ...caller, log: caller.log.child({}, { level: 'error' }) } : caller
    const folder = resolve(given ?? `${caller.config.home}-demo`)
    const story = tellStory(days)
    const progress = createProgress(caller)
    const began = performance.now()
    progress.phase('making a database')
    try {
      const summary = await makeInFolder(folder, async (url, wasInterrupted) => {
        if (wasInterrupted) progress.done('an earlier demo was interrupted here; it begins anew')
        await live(url, folder, { seed, asSold }, story, context, progress)
        return writePages(url, folder, caller.signal)
      })
      progress.done(`a month in ${Math.round((performance.now() - began) / 1000)} s`)
      return { parts: describeDemo({ ...summary, folder: show(folder), days: story.map(({ day }) => day) }) }
    } finally {
      progress.stop()
      if (caller.signal.aborted) warn(caller, 'Stopped. What was made of the demo is removed.')
    }
  },
})

async function live(
  url: string,
  folder: string,
  { seed, asSold }: { readonly seed: number; readonly asSold: boolean },
  story: readonly StoryDay[],
  { config, log, signal }: CommandContext,
  progress: Progress,
): Promise<void> {
  await migrate(url)
  const db = openDatabase(url, { maxConnections: 1 })
  await claimDatabaseFor(db, 'the sandbox').finally(() => db.close())
  const sandbox = await startPrivateSandbox(folder, { ...SANDBOX, seed, asSold })
  const named = asSold ? { ...sandbox, stores: STORES_AS_SOLD } : sandbox
  const settings = { ...config, reports: null }
  try {
    progress.phase('living through the month')
    await liveThrough({ url, sandbox: named, jobs: JOBS, settings, log, signal }, story, (index) => {
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
async function writePages(url: string, folder: string, signal: AbortSignal): Promise<DemoSummary> {
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
