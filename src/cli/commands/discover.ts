/** Keywords that a project might watch; the best of them are measured once on request. */
import { resolve } from 'node:path'
import { stringify } from 'csv-stringify/sync'
import type { Database } from '../../db/database.ts'
import { ConfigurationError } from '../../errors.ts'
import { findProject } from '../../report/read.ts'
import { writeWholeFile } from '../../report/write-file.ts'
import type { Store } from '../../service/functions.ts'
import { DEFAULT_LISTINGS, LISTING_PRICES } from '../../service/listings.ts'
import { formatUsd } from '../../text/money.ts'
import { countOf } from '../../text/words.ts'
import { shortName } from '../../watch/add.ts'
import {
  addProbes,
  type Candidate,
  endProbes,
  discover as findCandidates,
  type Probed,
  priceProbes,
  readProbes,
} from '../../watch/discover.ts'
import { escapeFormula } from '../../watch/spellings.ts'
import { type CommandContext, command, flag, type Given, option, required, usually } from '../command.ts'
import { withDatabase } from '../database-session.ts'
import { heading, type Part, table } from '../document.ts'
import { EXIT } from '../failure.ts'
import { wholeNumber } from '../option-values.ts'
import { confirm } from '../tell.ts'
import { buySearch } from './api.ts'
import { buyDue } from './run.ts'

const COLUMNS = ['store', 'keyword', 'location', 'language', 'score', 'apps', 'near', 'example']
const TAG = 'discovered'

const options = {
  project: required(option('<name>', 'whose keywords, apps and competitors it starts from')),
  app: option('<id>', 'an app of the project: from what ranks beside it, and from its page alone'),
  country: option('<name>', 'only for this place: its name, or the ISO code of a country'),
  limit: usually(50, option('<number>', 'how many at most', wholeNumber(1, 1000))),
  listings: option('<words>', "also titles that the service's own search finds for these words"),
  probe: option('<number>', 'buy one measurement of the best of them', wholeNumber(1, 100)),
  yes: flag('buy without asking'),
  out: option('<file>', 'write them as the file that `storerank import` reads'),
  json: flag('print JSON instead of a table'),
}
/** An assistant chooses none of what is null. */
type Options = Given<typeof options>

export const discover = command({
  group: 'Watch',
  summary: 'propose keywords from what ranks; buys only with --probe or --listings',
  options,
  offers: [
    {
      name: 'discover',
      summary: 'Proposes keywords that a project does not watch yet, from what is bought already',
      fixed: { yes: false, probe: undefined, listings: undefined, out: undefined },
    },
  ],
  examples: ['storerank discover --project fitness --country US --out keywords.csv'],
  run: async (given, context) => {
    const { project, app, country, limit, out } = given
    const titles = await searchTitles(given, context)
    const candidates = await withDatabase(context, async ({ db }) => {
      findProject(project, await db.sql<{ name: string }[]>`select name from project order by name`)
      const chosen = { ...(app && { app }), ...(country && { country }), ...(titles && { titles }) }
      return findCandidates(db, { project, limit, ...chosen })
    })
    const probed = await probe(candidates, given, context)
    if (out !== undefined) await writeWholeFile(resolve(out), toFile(candidates))
    return {
      data: { candidates, ...(probed === null ? {} : { probed }) },
      parts: [
        describeCandidates(candidates, project),
        out !== undefined && `Written: ${resolve(out)}. \`storerank import --trial\` says what it costs.`,
        probed !== null && describeProbes(probed),
      ],
      exitCode: probed?.some(({ isMeasured }) => !isMeasured) ? EXIT.failed : 0,
    }
  },
})

function describeCandidates(candidates: readonly Candidate[], project: string): Part {
  if (candidates.length === 0)
    return (
      `Nothing to propose: of the last month no keyword of ${project} has results there with titles that ` +
      'share words which it does not watch.'
    )
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
  { listings, project, yes }: Options,
  context: CommandContext,
): Promise<string[] | undefined> {
  if (listings === undefined) return undefined
  const stores = await withDatabase(context, ({ db }) => readStores(db, project))
  const micros = stores.length * (LISTING_PRICES.callMicros + DEFAULT_LISTINGS * LISTING_PRICES.resultMicros)
  const what = `Searching the service's listings of ${stores.map(shortName).join(' and ')}`
  if (!(await mayBuy(`${what} costs ${formatUsd(micros)} at most.`, yes, context))) return undefined
  const titles: string[] = []
  for (const store of stores) {
    const { items } = await buySearch({ store, query: { title: listings }, project }, context)
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
  { project, probe: count = 0, yes }: Options,
  context: CommandContext,
): Promise<readonly Probed[] | null> {
  const best = candidates.slice(0, count)
  if (best.length === 0) return null
  const micros = await withDatabase(context, ({ db }) => priceProbes(db, best))
  const what = `Measuring ${countOf(best.length, 'keyword')} once costs ${formatUsd(micros)} at most`
  const beside = 'and the run that does it buys whatever else is due now.'
  if (!(await mayBuy(`${what}, ${beside}`, yes, context))) return null
  try {
    await withDatabase(context, ({ db }) => addProbes(db, project, best))
    await buyDue({ brief: true }, context)
    return await withDatabase(context, ({ db }) => readProbes(db, project))
  } finally {
    await withDatabase(context, ({ db }) => endProbes(db, project))
  }
}

async function mayBuy(sentence: string, isWanted: boolean, context: CommandContext): Promise<boolean> {
  const unasked = `Nothing was bought: ${sentence} Say --yes to buy it without a terminal.`
  return isWanted || confirm(`${sentence} Buy?`, unasked, context)
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
  return [heading('What was measured'), table(rows)]
}
