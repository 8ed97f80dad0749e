/**
 * The single ways in which the service as it is sold differs from its specification. Without any the sandbox
 * is the specification, to the letter. docs/service.md says where each is known from: "The service as it is
 * sold".
 */

export const DEVIATIONS = {
  paths:
    'Paths name the stores apple and google, wherever one is taken or given; URLs in lists have the host.',
  ids: 'Ids have the form 11081554-0696-0066-0000-27e68ec15871, which is no version of a UUID.',
  types:
    'Items are app_store_… and google_play_…, charts have the type of searches, each se_type is organic.',
  nulls:
    'Fields that the specification always fills are null: check_url of the ios_store, ratings and others.',
  statuses: 'id_list gives the message of a task, and what the service added to it in the metadata.',
  languages: 'A language is required but for searches of the android_store, which has such as zh-CN.',
  'money-beside-rates':
    'user_data has money and price beside rates, with the tables of other APIs such as serp and total_serp.',
  'no-limits':
    'Every limit of user_data is 0, and the account has none; those of single calls hold all the same.',
  'strict-present': "datetime_to of id_list is refused where it is not earlier than the service's present.",
  units: 'Reviews of the ios_store are 25 by default, and billed per 25.',
  codes: 'The list of codes, the messages, and where refusals stand, are those of the service as it is sold.',
  'all-apis': 'The status names APIs that are not ours.',
  'lagging-ready': 'A task enters its ready list a moment after it is done, and an empty list is null.',
  'errors-7-days': 'The list of failed tasks goes back seven days.',
  endpoints:
    'Charts of the ios_store, reviews of the android_store, a search in listings, one ready list for all.',
  'many-locations': 'The android_store has about 100,000 locations, in about 15 MB.',
} as const satisfies Record<string, string>

export type Deviation = keyof typeof DEVIATIONS

export const DEVIATION_NAMES = Object.keys(DEVIATIONS) as readonly Deviation[]

/** The deviations that are switched on; none is the specification. */
export type Deviations = ReadonlySet<Deviation>
