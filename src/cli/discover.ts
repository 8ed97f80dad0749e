/** What `storerank discover` does: proposes keywords, and measures the best of them once on request. */
import { resolve } from 'node:path'
import { stringify } from 'csv-stringify/sync'
import type { Database } from '../db/database.ts'
import { ConfigurationError } from '../errors.ts'
import { findProject } from '../report/read.ts'
import { writeWholeFile } from '../report/write-file.ts'
import type { Store } from '../service/functions.ts'
import { DEFAULT_LISTINGS, LISTING_PRICES } from '../service/listings.ts'
import { formatUsd } from '../text/money.ts'
import { countOf } from '../text/words.ts'
import { shortName } from '../watch/add.ts'
import { escapeFormula } from '../watch/cells.ts'
import {
  addProbes,
  type Candidate,
  discover,
  endProbes,
  type Probed,
  priceProbes,
  readProbes,
} from '../watch/discover.ts'
import type { CommandContext } from './command.ts'
import { confirm } from './confirm.ts'
import { type Document, heading, type Part, table } from './document.ts'
import { EXIT } from './exit-codes.ts'
import { withDatabase } from './needs.ts'
import { warn } from './tell.ts'

interface DiscoverOptions {
  readonly project: string
  readonly app?: string
  readonly country?: string
  readonly limit: number
  readonly listings?: string | null
  readonly probe?: number | null
  readonly yes: boolean
  readonly out?: string | null
}

const COLUMNS = ['store', 'keyword', 'location', 'language', 'score', 'apps', 'near', 'example']
const TAG = 'discovered'

export async function discoverKeywords(options: DiscoverOptions, context: CommandContext): Promise<Document> {
  const titles = await searchTitles(options, context)
  const { project, app, country, limit } = options
  const candidates = await withDatabase(context, async ({ db }) => {
    findProject(project, await db.sql<{ name: string }[]>`select name from project order by name`)
    const chosen = { ...(app && { app }), ...(country && { country }), ...(titles && { titles }) }
    return discover(db, { project, limit, ...chosen })
  })
  const probed = await probe(candidates, options, context)
  const { out } = options
  if (typeof out === 'string') await writeWholeFile(resolve(out), toFile(candidates))
  return {
    data: { candidates, ...(probed === null ? {} : { probed }) },
    parts: [
      describeCandidates(candidates, options),
      typeof out === 'string' && `Written: ${resolve(out)}. \`storerank import --trial\` says what it costs.`,
      probed !== null && describeProbes(probed),
    ],
    exitCode: probed?.some(({ isMeasured }) => !isMeasured) ? EXIT.failed : 0,
  }
}

function describeCandidates(candidates: readonly Candidate[], { project }: DiscoverOptions): Part {
  if (candidates.length === 0) {
    return (
      `Nothing to propose: of the last month no keyword of ${project} has results there with titles that ` +
      'share words which it does not watch.'
    )
  }
  const rows = candidates.map((each) => ({
    ...each,
    store: shortName(each.store),
    example: each.examples[0] ?? '',
  }))
  return [
    table(rows, { columns: COLUMNS }),
    'score: what the apps weigh that are called so; near: the keyword whose results have it most.',
  ]
}

/** What `storerank import` takes. */
function toFile(candidates: readonly Candidate[]): string {
  const rows = candidates.map(({ project, store, keyword, locationCode, language }) =>
    [project, store, keyword, String(locationCode), language, TAG].map(escapeFormula),
  )
  return stringify([['project', 'store', 'keyword', 'location_code', 'language_code', 'tags'], ...rows])
}

/** Titles of the service's own listings, bought through the budgets of the project. */
async function searchTitles(
  { listings, project, yes }: DiscoverOptions,
  context: CommandContext,
): Promise<string[] | undefined> {
  if (typeof listings !== 'string') return undefined
  const stores = await withDatabase(context, ({ db }) => readStores(db, project))
  const micros = stores.length * (LISTING_PRICES.callMicros + DEFAULT_LISTINGS * LISTING_PRICES.resultMicros)
  const what = `Searching the service's listings of ${stores.map(shortName).join(' and ')}`
  if (!(await mayBuy(`${what} costs ${formatUsd(micros)} at most.`, yes, context))) return undefined
  const { searchByHand } = await import('./search-listings.ts')
  const titles: string[] = []
  for (const store of stores) {
    const search = { endpoint: 'app_listings/search/live', fields: [`title=${listings}`], store, project }
    const { items } = await searchByHand(search, context)
    titles.push(...items.flatMap(({ item }) => item.title ?? []))
  }
  return titles
}

async function readStores({ sql }: Database, project: string): Promise<Store[]> {
  const rows = await sql<{ store: Store }[]>`
    select distinct store from project_list where project = ${project} and ended_at is null order by 1 desc`
  if (rows.length > 0) return rows.map(({ store }) => store)
  throw new ConfigurationError(
    `The project ${JSON.stringify(project)} watches no keyword: there is nothing to start from.`,
  )
}

/** Null where nothing was to be bought. */
async function probe(
  candidates: readonly Candidate[],
  { project, probe: count, yes }: DiscoverOptions,
  context: CommandContext,
): Promise<readonly Probed[] | null> {
  const best = candidates.slice(0, count ?? 0)
  if (best.length === 0) return null
  const micros = await withDatabase(context, ({ db }) => priceProbes(db, best))
  const what = `Measuring ${countOf(best.length, 'keyword')} once costs ${formatUsd(micros)} at most`
  const beside = 'and the run that does it buys whatever else is due now.'
  if (!(await mayBuy(`${what}, ${beside}`, yes, context))) return null
  try {
    await withDatabase(context, ({ db }) => addProbes(db, project, best))
    const { run } = await import('./run.ts')
    const { warnings = [] } = await run({ jobs: [], brief: true }, context)
    for (const warning of warnings) warn(context, warning)
    return await withDatabase(context, ({ db }) => readProbes(db, project))
  } finally {
    await withDatabase(context, ({ db }) => endProbes(db, project))
  }
}

async function mayBuy(sentence: string, yes: boolean, context: CommandContext): Promise<boolean> {
  const unasked = `Nothing was bought: ${sentence} Say --yes to buy it without a terminal.`
  return yes || confirm(`${sentence} Buy?`, unasked, context)
}

function describeProbes(probed: readonly Probed[]): Part {
  const rows = probed.map(({ isMeasured, rank, depth, problem, ...each }) => ({
    keyword: each.keyword,
    location: each.location,
    'your rank': isMeasured ? (rank ?? `> ${depth}`) : 'not measured',
    competitors: each.competitors,
    'results in the store': each.results ?? '',
    first: each.first ?? problem ?? '',
  }))
  return [heading('What was measured'), table(rows, { columns: Object.keys(rows[0] ?? {}) })]
}
