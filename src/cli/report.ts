/** `storerank report`: the latest day of a project, on the terminal, as JSON, or as a page in one file. */
import { resolve } from 'node:path'
import { requireCurrentSchema } from '../db/migrate.ts'
import { ConfigurationError } from '../errors.ts'
import { type Digest, digest } from '../report/digest.ts'
import type { Report } from '../report/model.ts'
import { readLogo } from '../report/page/logo.ts'
import { renderPage } from '../report/page/page.ts'
import { type ReportQuery, readProjects, readReport } from '../report/read.ts'
import { countOf } from '../report/words.ts'
import { writeWholeFile } from '../report/write-file.ts'
import type { CommandContext, CommandOptions } from './command.ts'
import { openDatabaseSession } from './database-session.ts'
import { isLarger, showByPager } from './pager.ts'
import { formatCount, printJson, widthOf } from './print.ts'
import { drawDigest } from './print-digest.ts'

const BYTES_PER_KILOBYTE = 1000

export async function run(options: CommandOptions['report'], context: CommandContext): Promise<number> {
  if (options.html === undefined && (options.title ?? options.logo) !== undefined) {
    throw new ConfigurationError('--title and --logo are of the page: give its file with --html.')
  }
  const session = await openDatabaseSession(context, { migrates: false })
  try {
    await requireCurrentSchema(session.db)
    const projects = options.project === undefined ? await readProjects(session.db) : [options.project]
    if (projects.length === 0) {
      throw new ConfigurationError('There is no project yet: watch a keyword, and its project is there.')
    }
    const read = (project: string) => readReport(session.db, { ...queryOf(options), project })
    if (options.html !== undefined) {
      await writeHtml(await read(onlyOne(projects)), options.html, options, context)
      return 0
    }
    const digests = []
    for (const project of projects) digests.push(digest(await read(project)))
    if (options.json) printJson(digests, context)
    else await show(digests, context)
    return 0
  } finally {
    await session.close()
  }
}

/** On a terminal through the pager, where the text is larger than the screen. */
async function show(digests: readonly Digest[], { stdout, config }: CommandContext): Promise<void> {
  const text = digests.map((each) => drawDigest(each, widthOf(stdout))).join('')
  const isPaged = stdout.isTTY && config.pager !== null && isLarger(text, stdout)
  if (!isPaged || !(await showByPager(text, config.pager ?? ''))) stdout.write(text)
}

function queryOf({ from, to, tag }: CommandOptions['report']): Omit<ReportQuery, 'project'> {
  return {
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
    ...(tag === undefined ? {} : { tag }),
  }
}

/** A page is of one project. */
function onlyOne(projects: readonly string[]): string {
  const [only, ...others] = projects
  if (only !== undefined && others.length === 0) return only
  throw new ConfigurationError(
    `A page is about one project, and there are several: give one of ${projects.join(', ')} with --project.`,
  )
}

async function writeHtml(
  report: Report,
  html: string,
  { title, logo }: CommandOptions['report'],
  { stdout }: CommandContext,
): Promise<void> {
  const page = renderPage(report, {
    ...(title === undefined ? {} : { title }),
    ...(logo === undefined ? {} : { logoUrl: await readLogo(logo) }),
  })
  const file = resolve(html)
  await writeWholeFile(file, page)
  const size = formatCount(Math.ceil(Buffer.byteLength(page) / BYTES_PER_KILOBYTE))
  stdout.write(
    `${report.project}, ${report.days[0]} to ${report.days.at(-1)}: ${countOf(report.lists.length, 'keyword or chart', 'keywords and charts')} in ${size} KB.\n${file}\n`,
  )
}
