/** What moved in projects and what it cost: the latest day on the terminal, or all as a page in one file. */
import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Database } from '../../db/database.ts'
import { ConfigurationError } from '../../errors.ts'
import { type Digest, type DigestMove, digest } from '../../report/digest.ts'
import { readLogo } from '../../report/page/logo.ts'
import { renderPage } from '../../report/page/page.ts'
import { NothingOfProjectError, type ReportQuery, readProjects, readReport } from '../../report/read.ts'
import { drawSparkline, formatChange } from '../../report/summary.ts'
import { writeWholeFile } from '../../report/write-file.ts'
import { ALL, chooseSections, SECTIONS, type SectionName, type Shown } from '../../sections.ts'
import { formatDay } from '../../text/days.js'
import { GAP_NAMES } from '../../text/gaps.js'
import { formatUsd } from '../../text/money.ts'
import { countOf, formatCount, formatDifference, formatPercent, STORE_NAMES } from '../../text/words.ts'
import { command, flag, option } from '../command.ts'
import { database } from '../database-session.ts'
import { heading, more, type Part, table, verbatim } from '../document.ts'
import { colour, day, readableFile, someOf } from '../option-values.ts'
import { widthOf } from '../print.ts'

const BYTES_PER_KILOBYTE = 1000
const MOVES_SHOWN = 10
const REASONS_SHOWN = 10
const ADVERTISERS_SHOWN = 5
const SPARKLINE_WIDTH = 30
/** On a terminal that is narrower than such a table with a long course. */
const SHORT_SPARKLINE_WIDTH = 8
const WIDE_TERMINAL = 120

export const report = command({
  group: 'Look',
  summary: 'show what moved, against whom, what was not measured and why, and what it cost',
  options: {
    project: option('<name>', 'this project (default: each of them)'),
    tag: option('<tag>', 'only keywords and charts with this tag'),
    location: option('<name>', 'only those of this location, such as "United States" or US'),
    from: option('<day>', 'first day, such as 2026-03-01 (default: 90 days in all)', day),
    to: option('<day>', 'last day (default: the last one with a measurement or a gap)', day),
    json: flag('print JSON instead of tables', { conflicts: ['html'] }),
    html: option('<file>', 'write a page instead: one file that opens from the disk'),
    title: option('<text>', 'title of the page (default: the name of the project)'),
    logo: option('<file>', 'picture beside the title: PNG, JPEG, SVG or WebP'),
    intro: option('<file>', 'Markdown that the page begins with', readableFile),
    accent: option('<colour>', 'of links on the page, such as #1d59c4', colour),
    sections: option('<names>', `only these: ${SECTIONS.join(', ')}`, someOf('section', SECTIONS)),
    without: option('<names>', 'all sections but these, such as money,gaps', someOf('section', SECTIONS)),
  },
  examples: ['storerank report --project fitness --html fitness.html'],
  needs: database(),
  run: async (given, { stdout }, { db }) => {
    const { json: _, project, html, title, logo, intro, accent, sections, without, ...query } = given
    if (html === undefined && (title ?? logo ?? intro ?? accent) !== undefined)
      throw new ConfigurationError(
        '--title, --logo, --intro and --accent are of the page: give its file with --html.',
      )
    const shown = chooseSections(sections, without)
    const projects = project === undefined ? await readProjects(db) : [project]
    if (projects.length === 0)
      throw new ConfigurationError('There is no project yet: watch a keyword, and its project is there.')
    if (html === undefined) {
      const digests = await readDigests(db, projects, query, shown)
      const isWide = widthOf(stdout) >= WIDE_TERMINAL
      const parts = digests.map((each) => describeDigest(each, isWide, shown))
      return { data: digests, parts, paged: 'fitting' }
    }
    const content = await readReport(db, { ...query, project: onlyOne('A page', projects) })
    const page = renderPage(content, {
      shown,
      ...(title === undefined ? {} : { title }),
      ...(logo === undefined ? {} : { logoUrl: await readLogo(logo) }),
      ...(intro === undefined ? {} : { intro: await readFile(intro, 'utf8') }),
      ...(accent === undefined ? {} : { accent }),
    })
    await writeWholeFile(resolve(html), page)
    const size = formatCount(Math.ceil(Buffer.byteLength(page) / BYTES_PER_KILOBYTE))
    const lists = countOf(content.lists.length, 'keyword or chart', 'keywords and charts')
    const days = `${content.days[0]} to ${content.days.at(-1)}`
    return { parts: [`${content.project}, ${days}: ${lists} in ${size} KB.`, verbatim(resolve(html))] }
  },
})

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

/** @param isWide whether the course of a month has room beside the other columns */
export function describeDigest(digest: Digest, isWide: boolean, shown: Shown = ALL): Part[] {
  const of = (section: SectionName, ...parts: readonly Part[]) => shown.has(section) && parts
  const tag = digest.tag === null ? '' : `, tag ${digest.tag}`
  const within = digest.crossedInDays === 1 ? 'since the day before' : `in ${digest.crossedInDays} days`
  const location = digest.location === null ? '' : `, ${digest.location}`
  return [
    heading(`${digest.project}${tag}${location}, ${formatDay(digest.from)} to ${formatDay(digest.to)}`),
    '',
    digest.findings.map(({ about, text }) => `${about}: ${text}`),
    of(
      'movers',
      describeMoves('Up since the day before', digest.up),
      describeMoves('Down since the day before', digest.down),
      describeMoves(`Came into the top 10 ${within}`, digest.entered),
      describeMoves(`Left the top 10 ${within}`, digest.left),
    ),
    of('gaps', describeReasons(digest)),
    of('keywords', describeOpportunities(digest)),
    of('holders', describeAdvertisers(digest)),
    of(
      'trends',
      describeVisibility(digest, isWide ? SPARKLINE_WIDTH : SHORT_SPARKLINE_WIDTH),
      describeVoice(digest),
    ),
    of('money', describeMoney(digest)),
  ]
}

/** A title above a table, where the table has rows, with the first of them. */
function chapter(title: string, rows: readonly object[], right: readonly string[], most = rows.length): Part {
  const shown = rows.slice(0, most)
  return rows.length > 0 && [heading(title), table(shown, { right }), more(rows.length - shown.length)]
}

function describeMoves(title: string, moves: readonly DigestMove[]): Part {
  const rows = moves.map((move) => ({
    keyword: move.keyword,
    where: `${nameStore(move.store)} ${move.place}`,
    app: move.app,
    before: move.beforeText,
    now: move.text,
    change: formatChange(move),
  }))
  return chapter(`${title} (${formatCount(moves.length)})`, rows, ['before', 'now', 'change'], MOVES_SHOWN)
}

function describeOpportunities({ opportunities }: Digest): Part {
  const rows = opportunities.map(({ keyword, store, place, difficulty, opportunity, weak }) => ({
    keyword,
    where: `${nameStore(store)} ${place}`,
    difficulty: difficulty.toFixed(0),
    opportunity: opportunity.toFixed(2),
    'weak in the top 10': weak,
  }))
  const title = 'Worth most work (weight × what a better rank wins × how easy it is)'
  return chapter(title, rows, ['difficulty', 'opportunity', 'weak in the top 10'])
}

function describeAdvertisers({ advertisers }: Digest): Part {
  const rows = advertisers.map(({ name, store, keywords, days, brands }) => ({
    app: name,
    store: nameStore(store),
    keywords,
    days,
    'on your brand': brands.join(', '),
  }))
  const title = 'Who advertised on your keywords in the last 30 days'
  return chapter(title, rows, ['keywords', 'days'], ADVERTISERS_SHOWN)
}

function nameStore(store: string): string {
  return STORE_NAMES[store as keyof typeof STORE_NAMES] ?? store
}

function describeReasons({ reasons }: Digest): Part {
  const rows = reasons.map(({ gap, slots, reason, examples }) => ({
    why: GAP_NAMES[gap],
    slots,
    reason: reason ?? '',
    'for example': examples.join(', ') + (slots > examples.length ? ', …' : ''),
  }))
  return chapter('Not measured on the last day', rows, [], REASONS_SHOWN)
}

function describeVisibility({ visibility }: Digest, courseWidth: number): Part {
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
  return chapter(title, rows, ['visible', '7 days', 'on', 'measured'])
}

function describeVoice({ shareOfVoice }: Digest): Part {
  return [...Map.groupBy(shareOfVoice, ({ store }) => store)].map(([store, shares]) => {
    const texts = shares.map(({ app, percent }) => `${app ?? 'all others'} ${formatPercent(percent)}`)
    return `\nShare of voice, ${nameStore(store)}: ${texts.join(', ')}`
  })
}

function describeMoney({ money, from }: Digest): Part {
  const usd = (micros: number) => formatUsd(micros, 'rounded')
  const reserved = money.reservedMicros > 0 ? `, and ${usd(money.reservedMicros)} reserved` : ''
  const since = `${usd(money.spentInAllMicros)} since ${formatDay(from)}`
  const budgets = money.budgets.map(({ period, limitMicros, usedMicros }) => {
    const percent = limitMicros === 0 ? 100 : Math.round((100 * usedMicros) / limitMicros)
    return `  of ${usd(limitMicros)} a ${period}: ${usd(usedMicros)}, ${percent} %`
  })
  return [`\nSpent ${usd(money.spentMicros)} on the last day, ${since}${reserved}`, budgets]
}
