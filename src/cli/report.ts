/** What `storerank report` shows: the latest day of a project, on the terminal or as a page in one file. */
import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Database } from '../db/database.ts'
import { ConfigurationError } from '../errors.ts'
import { type Digest, type DigestMove, digest } from '../report/digest.ts'
import { readLogo } from '../report/page/logo.ts'
import { type PageOptions, renderPage } from '../report/page/page.ts'
import { NothingOfProjectError, type ReportQuery, readProjects, readReport } from '../report/read.ts'
import { drawSparkline } from '../report/sparkline.ts'
import { formatChange } from '../report/words.ts'
import { writeWholeFile } from '../report/write-file.ts'
import { ALL, chooseSections, type SectionName, type Shown } from '../sections.ts'
import { formatDay } from '../text/days.js'
import { GAP_NAMES } from '../text/gaps.js'
import { formatUsd } from '../text/money.ts'
import { countOf, formatCount, formatDifference, formatPercent, STORE_NAMES } from '../text/words.ts'
import type { CommandContext } from './command.ts'
import { type Document, heading, more, type Part, table, verbatim } from './document.ts'
import { widthOf } from './print.ts'

const BYTES_PER_KILOBYTE = 1000
const MOVES_SHOWN = 10
const REASONS_SHOWN = 10
const ADVERTISERS_SHOWN = 5
const SPARKLINE_WIDTH = 30
/** On a terminal that is narrower than such a table with a long course. */
const SHORT_SPARKLINE_WIDTH = 8
const WIDE_TERMINAL = 120

/** A page has a file, and may have a title and a logo. */
export interface ReportOptions extends Omit<ReportQuery, 'project'> {
  readonly project?: string
  readonly html?: string
  readonly title?: string
  readonly logo?: string
  readonly intro?: string
  readonly accent?: string
  readonly sections?: readonly SectionName[]
  readonly without?: readonly SectionName[]
}

export async function showReport(
  db: Database,
  { project, html, title, logo, intro, accent, sections, without, ...query }: ReportOptions,
  { stdout }: CommandContext,
): Promise<Document> {
  if (html === undefined && (title ?? logo ?? intro ?? accent) !== undefined)
    throw new ConfigurationError(
      '--title, --logo, --intro and --accent are of the page: give its file with --html.',
    )
  const shown = chooseSections(sections, without)
  const projects = project === undefined ? await readProjects(db) : [project]
  if (projects.length === 0)
    throw new ConfigurationError('There is no project yet: watch a keyword, and its project is there.')
  if (html !== undefined) {
    const page: PageOptions = {
      shown,
      ...(title === undefined ? {} : { title }),
      ...(logo === undefined ? {} : { logoUrl: await readLogo(logo) }),
      ...(intro === undefined ? {} : { intro: await readFile(intro, 'utf8') }),
      ...(accent === undefined ? {} : { accent }),
    }
    return writeHtml(db, { ...query, project: onlyOne('A page', projects) }, resolve(html), page)
  }
  const digests = await readDigests(db, projects, query, shown)
  const isWide = widthOf(stdout) >= WIDE_TERMINAL
  return {
    data: digests,
    parts: digests.flatMap((each) => describeDigest(each, isWide, shown)),
    paged: 'fitting',
  }
}

/** Of several projects those are left out that have nothing with the tag, or of the location. */
async function readDigests(
  db: Database,
  projects: readonly string[],
  query: Omit<ReportQuery, 'project'>,
  shown: Shown,
): Promise<Digest[]> {
  const digests: Digest[] = []
  let nothing: NothingOfProjectError | undefined
  for (const project of projects) {
    try {
      digests.push(digest(await readReport(db, { ...query, project }), shown))
    } catch (error) {
      if (!(error instanceof NothingOfProjectError)) throw error
      nothing ??= error
    }
  }
  if (digests.length === 0 && nothing !== undefined) throw nothing
  return digests
}

/** @param what is about one project: `A page` */
export function onlyOne(what: string, projects: readonly string[]): string {
  const [only, ...others] = projects
  if (only !== undefined && others.length === 0) return only
  throw new ConfigurationError(
    `${what} is about one project, and there are several: ` +
      `give one of ${projects.join(', ')} with --project.`,
  )
}

async function writeHtml(
  db: Database,
  query: ReportQuery,
  file: string,
  options: PageOptions,
): Promise<Document> {
  const report = await readReport(db, query)
  const page = renderPage(report, options)
  await writeWholeFile(file, page)
  const size = formatCount(Math.ceil(Buffer.byteLength(page) / BYTES_PER_KILOBYTE))
  const lists = countOf(report.lists.length, 'keyword or chart', 'keywords and charts')
  const days = `${report.days[0]} to ${report.days.at(-1)}`
  return { parts: [`${report.project}, ${days}: ${lists} in ${size} KB.`, verbatim(file)] }
}

/** @param isWide whether the course of a month has room beside the other columns */
export function describeDigest(digest: Digest, isWide: boolean, shown: Shown = ALL): Part[] {
  const of = (section: SectionName, ...parts: readonly Part[]) => (shown.has(section) ? parts : [])
  const tag = digest.tag === null ? '' : `, tag ${digest.tag}`
  const within = digest.crossedInDays === 1 ? 'since the day before' : `in ${digest.crossedInDays} days`
  const location = digest.location === null ? '' : `, ${digest.location}`
  return [
    heading(`${digest.project}${tag}${location}, ${formatDay(digest.from)} to ${formatDay(digest.to)}`),
    '',
    digest.findings.map(({ about, text }) => `${about}: ${text}`),
    ...of(
      'movers',
      describeMoves('Up since the day before', digest.up),
      describeMoves('Down since the day before', digest.down),
      describeMoves(`Came into the top 10 ${within}`, digest.entered),
      describeMoves(`Left the top 10 ${within}`, digest.left),
    ),
    ...of('gaps', describeReasons(digest)),
    ...of('keywords', describeOpportunities(digest)),
    ...of('holders', describeAdvertisers(digest)),
    ...of(
      'trends',
      describeVisibility(digest, isWide ? SPARKLINE_WIDTH : SHORT_SPARKLINE_WIDTH),
      describeVoice(digest),
    ),
    ...of('money', describeMoney(digest)),
  ]
}

function describeMoves(title: string, moves: readonly DigestMove[]): Part {
  if (moves.length === 0) return null
  const rows = moves.slice(0, MOVES_SHOWN).map((move) => ({
    keyword: move.keyword,
    where: `${nameStore(move.store)} ${move.place}`,
    app: move.app,
    before: move.beforeText,
    now: move.text,
    change: formatChange(move),
  }))
  return [
    heading(`${title} (${formatCount(moves.length)})`),
    table(rows, { right: ['before', 'now', 'change'] }),
    more(moves.length - MOVES_SHOWN),
  ]
}

function describeOpportunities({ opportunities }: Digest): Part {
  if (opportunities.length === 0) return null
  const rows = opportunities.map(({ keyword, store, place, difficulty, opportunity, weak }) => ({
    keyword,
    where: `${nameStore(store)} ${place}`,
    difficulty: difficulty.toFixed(0),
    opportunity: opportunity.toFixed(2),
    'weak in the top 10': weak,
  }))
  const right = ['difficulty', 'opportunity', 'weak in the top 10']
  return [
    heading('Worth most work (weight × what a better rank wins × how easy it is)'),
    table(rows, { right }),
  ]
}

function describeAdvertisers({ advertisers }: Digest): Part {
  if (advertisers.length === 0) return null
  const rows = advertisers.slice(0, ADVERTISERS_SHOWN).map(({ name, store, keywords, days, brands }) => ({
    app: name,
    store: nameStore(store),
    keywords,
    days,
    'on your brand': brands.join(', '),
  }))
  return [
    heading('Who advertised on your keywords in the last 30 days'),
    table(rows, { right: ['keywords', 'days'] }),
    more(advertisers.length - ADVERTISERS_SHOWN),
  ]
}

function nameStore(store: string): string {
  return STORE_NAMES[store as keyof typeof STORE_NAMES] ?? store
}

function describeReasons({ reasons }: Digest): Part {
  if (reasons.length === 0) return null
  const rows = reasons.slice(0, REASONS_SHOWN).map(({ gap, slots, reason, examples }) => ({
    why: GAP_NAMES[gap],
    slots,
    reason: reason ?? '',
    'for example': examples.join(', ') + (slots > examples.length ? ', …' : ''),
  }))
  return [heading('Not measured on the last day'), table(rows), more(reasons.length - REASONS_SHOWN)]
}

function describeVisibility({ visibility }: Digest, courseWidth: number): Part {
  if (visibility.length === 0) return null
  const rows = visibility.map((each) => ({
    app: each.app,
    store: nameStore(each.store),
    role: each.role,
    visible: formatPercent(each.percent),
    '7 days': each.changeInWeek === null ? '–' : formatDifference(each.changeInWeek),
    on: each.due === 0 ? '–' : `${formatCount(each.compared)} of ${formatCount(each.due)}`,
    measured: formatPercent(each.measuredPercent),
    course: drawSparkline(each.course, courseWidth),
  }))
  const title = 'Visibility (100 % is first on every keyword; each rank counts 1/rank × weight)'
  return [heading(title), table(rows, { right: ['visible', '7 days', 'on', 'measured'] })]
}

function describeVoice({ shareOfVoice }: Digest): Part {
  return [...Map.groupBy(shareOfVoice, ({ store }) => store)].map(([store, shares]) => {
    const texts = shares.map(({ app, percent }) => `${app ?? 'all others'} ${formatPercent(percent)}`)
    return `\nShare of voice, ${nameStore(store)}: ${texts.join(', ')}`
  })
}

function describeMoney({ money, from }: Digest): Part {
  const reserved =
    money.reservedMicros > 0 ? `, and ${formatUsd(money.reservedMicros, 'rounded')} reserved` : ''
  const since = `${formatUsd(money.spentInAllMicros, 'rounded')} since ${formatDay(from)}`
  const budgets = money.budgets.map(({ period, limitMicros, usedMicros }) => {
    const percent = limitMicros === 0 ? 100 : Math.round((100 * usedMicros) / limitMicros)
    const limit = `${formatUsd(limitMicros, 'rounded')} a ${period}`
    return `  of ${limit}: ${formatUsd(usedMicros, 'rounded')}, ${percent} %`
  })
  return [`\nSpent ${formatUsd(money.spentMicros, 'rounded')} on the last day, ${since}${reserved}`, budgets]
}
