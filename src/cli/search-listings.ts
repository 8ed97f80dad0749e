/**
 * `storerank api app_listings/search/live`: the only call by hand that opens the database, because it is
 * bought there and then: it counts in the budgets, and its charge is a row of the ledger.
 */
import { ConfigurationError } from '../errors.ts'
import { type SearchAnswer, searchListings } from '../post/search-listings.ts'
import type { Store } from '../service/functions.ts'
import type { ListingQuery } from '../service/listings.ts'
import { Fields } from './api-fields.ts'
import type { CommandContext } from './command.ts'
import { service } from './needs.ts'

interface SearchOptions {
  readonly endpoint: string
  readonly fields: readonly string[]
  readonly store?: Store
  readonly project?: string
}

export async function searchByHand(options: SearchOptions, context: CommandContext): Promise<SearchAnswer> {
  const fields = new Fields(options.endpoint, options.fields)
  const query = readQuery(fields)
  fields.refuseRest()
  const { project } = options
  if (project === undefined) {
    throw new ConfigurationError(
      'Say which project pays for the search: --project fitness. A new one is made.',
    )
  }
  return service(context, ({ job: { db, client, settings, runner } }) => {
    const deps = { db, client, budget: settings.budget, window: { ...settings, runner } }
    return searchListings(deps, { store: options.store ?? 'ios_store', query, project }, context.signal)
  })
}

function readQuery(fields: Fields): Omit<ListingQuery, 'tag'> {
  const given = {
    title: fields.text('title'),
    description: fields.text('description'),
    categories: listOf(fields.all('categories')),
    filters: fields.json('filters'),
    orderBy: listOf(fields.all('order_by')),
    limit: fields.number('limit'),
    offset: fields.number('offset'),
    offsetToken: fields.text('offset_token'),
  }
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
}

function listOf(values: readonly string[]): readonly string[] | undefined {
  return values.length === 0 ? undefined : values
}
