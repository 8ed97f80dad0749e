/**
 * The rows of the specification, and of docs/service.md on what it leaves open: one id for each row of each
 * table and list, and for what stands in the text around them. `covers` ties a test to an id, and mapping.ts
 * compares all three.
 *
 * The last part of an id is made of words of the row that it names; what a row holds hangs on it
 * (`rating.value`).
 */

/** What one heading of a document holds. */
export type Section = {
  readonly document: 'app-data-service.md' | 'docs/service.md'
  readonly heading: string
  /** The rows of each table, in the order of the document. */
  readonly tables?: readonly (readonly string[])[]
  /** The numbered rules. */
  readonly list?: readonly string[]
  /** What the text around says. */
  readonly text?: readonly string[]
  /** Names in the section that are values, or rows of other sections. Without it, names are not looked at. */
  readonly values?: string
}

const words = (text: string): string[] => text.split(/\s+/).filter((word) => word !== '')
const under = (prefix: string, names: string): string[] => words(names).map((name) => `${prefix}.${name}`)

const spec = (heading: string, rows: Omit<Section, 'document' | 'heading'>): Section => ({
  document: 'app-data-service.md',
  heading,
  ...rows,
})
const notes = (heading: string, rows: Omit<Section, 'document' | 'heading'>): Section => ({
  document: 'docs/service.md',
  heading,
  ...rows,
})

const RATING = 'rating.rating_type rating.value rating.votes_count rating.rating_max'
const CALLS = 'task_post tasks_ready task_get'
const LAYOUT = `day minute app_data total total_app_data app_info app_list app_searches app_reviews ${CALLS}
  advanced html errors languages locations categories`

export const SECTIONS: readonly Section[] = [
  spec('App Data Service Specification', {
    text: under('store', 'ios_store android_store'),
    values: 'base_url store',
  }),
  spec('What the service does', { list: under('service', '1 2 3 4 5 6 7 8') }),
  spec('Response envelope', {
    tables: [under('envelope', 'version status_code status_message time cost tasks_count tasks_error tasks')],
    values: '',
  }),
  spec('Task object', {
    tables: [
      under(
        'task',
        `id status_code status_message time cost result_count path data.api data.function data.se data.se_type
        data.device data.os data.tag result`,
      ),
    ],
    text: ['statement.timestamps_are_utc'],
    values: 'task_get',
  }),
  spec('Task data echo by function', {
    tables: [
      under(
        'echo',
        `app_info.app_id app_info.location_code app_info.language_code
        app_list.app_collection app_list.app_category app_list.location_code app_list.language_code
        app_list.depth
        app_searches.keyword app_searches.location_code app_searches.language_code app_searches.depth
        app_reviews.app_id app_reviews.location_code app_reviews.language_code app_reviews.depth`,
      ),
    ],
    values: 'data android_store ios_store',
  }),
  spec('App info result', {
    text: [
      ...under(
        'app_info',
        'app_id se_domain location_code language_code check_url datetime se_results_count items_count items',
      ),
      ...under(
        'app_info.item',
        `categories languages advisories
        installs installs_count developer_email developer_address developer_website videos genres tags`,
      ),
    ],
    tables: [
      under(
        'app_info.item',
        `type rank_group rank_absolute position app_id title url icon description reviews_count ${RATING}
        price.current price.regular price.max_value price.currency price.is_price_range price.displayed_price
        is_free main_category developer developer_id developer_url version minimum_os_version size
        released_date
        last_update_date update_notes images similar_apps.app_id similar_apps.title similar_apps.url
        more_apps_by_developer.app_id more_apps_by_developer.title more_apps_by_developer.url`,
      ),
    ],
    values: 'result left ios_store android_store ios_store_info_organic android_store_info_organic',
  }),
  spec('Html result', {
    text: [
      ...under(
        'html',
        'location_code language_code se_domain datetime type items_count items app_id keyword',
      ),
      ...under('html.item', 'page date html'),
    ],
    values: 'result android_store app_info app_list app_searches organic',
  }),
  spec('Reviews result', {
    text: under(
      'reviews',
      `app_id type se_domain location_code language_code check_url datetime title ${RATING} reviews_count
        items_count
      items`,
    ),
    tables: [
      under(
        'reviews.item',
        `type rank_group rank_absolute position version ${RATING} timestamp id title review_text
        user_profile.profile_name user_profile.profile_image_url`,
      ),
    ],
    values: 'result depth left ios_store ios_store_reviews_search',
  }),
  spec('Ready-task list element', {
    text: under('ready', 'id endpoint_advanced endpoint_html'),
    values: 'tasks_ready',
  }),
  spec('Reference records', {
    tables: [
      under(
        'reference',
        `languages.language_name languages.language_code
        locations.location_code locations.location_name locations.location_name_parent
        locations.country_iso_code
        locations.location_type categories.categories app_listings_categories.category
        app_listings_categories.count`,
      ),
    ],
    text: [
      'statement.locations_in_two_countries',
      'statement.allowed_category_values_android_store',
      'statement.allowed_category_values_ios_store',
    ],
  }),
  spec('Account data record', {
    tables: [under('user_data', 'login timezone rates')],
    text: [
      ...under('user_data.limits', LAYOUT),
      ...under('user_data.statistics', `${LAYOUT} value`),
      ...under('user_data.money', 'total balance limits statistics'),
      ...under(
        'user_data.price',
        `appendix app_data priority_low priority_normal priority_high cost_type cost per_result per_request
        app_info app_list app_searches app_reviews task_get tasks_ready languages locations categories
        errors user_data`,
      ),
    ],
    values: '',
  }),
  spec('Status record', {
    text: [
      ...under('status', 'api status endpoints endpoints.endpoint endpoints.status'),
      ...under('status.endpoint', 'task_get task_post live postback_pingback'),
      ...under(
        'status.value',
        'ok major_outage partial_outage long_response_time long_execution_time webhook_delay send_delay',
      ),
    ],
    values: 'app_data appendix endpoints',
  }),
  spec('Failed-task record', {
    tables: [
      under(
        'failed_task',
        'id datetime function error_code error_message http_url http_method http_code http_time ' +
          'http_response',
      ),
    ],
    values: 'pingback_url postback_url app_data errors task_get',
  }),
  spec('Task id history record', {
    text: under('id_history', 'id url datetime_posted datetime_done status cost metadata'),
    values: 'id_list include_metadata true',
  }),
  spec('States and transitions', {
    tables: [under('state', 'created ready error')],
    text: under('retention', '30_days_app_info_and_app_reviews_advanced 7_days_html'),
    values: 'status_code tasks_ready app_data app_info app_reviews errors',
  }),
  spec('Endpoints', {
    tables: [under('endpoint', '1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18')],
    text: under(
      'statement',
      'bodies_are_json_in_utf_8 post_bodies_are_a_json_array every_response_is_the_envelope',
    ),
  }),
  spec('1. Task posting', {
    tables: [
      under(
        'task_post',
        `keyword location_name location_code language_name language_code priority depth tag postback_url
        postback_data
        pingback_url`,
      ),
    ],
    text: under('statement', 'response_one_task_object_per_posted_task'),
    list: under('rule.task_posting', '1 2 3'),
    values: 'id advanced data se_type device os cost status_code status_message ios_store app_searches',
  }),
  spec('14. Webhook resend', {
    text: under(
      'webhook_resend',
      'up_to_100_tasks no_second_charge status_20100 goes_out without_pingback_or_postback_40503'.replace(
        'goes_out',
        'go_out_through_the_delivery_method',
      ),
    ),
    values: 'result',
  }),
  spec('15. Failed tasks', {
    tables: [under('failed_tasks', 'limit offset filtered_function datetime_from datetime_to')],
    text: ['statement.a_task_absent_from_the_list'],
    values: 'function',
  }),
  spec('17. Task id history', {
    tables: [under('id_list', 'datetime_from datetime_to limit offset sort include_metadata')],
    text: under('statement', 'all_tasks_are_returned metadata_exists_only'),
    values: 'asc desc',
  }),
  spec('Authentication', { list: under('authentication', '1 2 3 4') }),
  spec('Events', {
    tables: [under('event', 'pingback postback')],
    list: under('rule.events', '1 2 3'),
    values: 'pingback_url postback_url postback_data advanced tasks_ready function webhook_delay send_delay',
  }),
  spec('Errors', {
    tables: [
      under('http', '401 402 404 500'),
      under('errors', '20000 20100 40000 40001 40002 40003 40004 40006 40100 40101 40102 40503'),
    ],
    text: under(
      'statement',
      `messages_may_be_extended the_errors_list_holds_46_entries a_client_treats_a_task_as_failed
      all_codes_in_10000_60000`,
    ),
    values: 'status_code result',
  }),
  spec('Limits', {
    tables: [
      under(
        'limits',
        `api_calls_per_minute tasks_per_post keyword_length tag_length depth billing_unit webhook_timeout
        result_retention ids_per_webhook_resend status_endpoint task_id_history failed_task_list`,
      ),
    ],
    text: ['statement.account_level_call_limits_and_spending_limits'],
  }),
  spec('Versioning', { list: under('versioning', '1 2 3') }),
  notes('Open points', {
    tables: [
      under(
        'notes',
        `tasks_ready_and_task_get_of_ios_store_app_searches
        advanced_results_of_android_store
        task_post_of_android
        depth_rules
        app_searches_advanced_result
        app_list_advanced_result
        tasks_ready_rows
        tasks_ready_limits
        locations_of_android_store
        asked_for_too_early
        asked_for_after_retention
        retention_of_advanced_app_searches_and_app_list
        unknown_id
        too_many_calls_in_a_minute
        too_many_requests_at_once
        money
        account
        server_trouble
        invalid_task_in_a_batch
        priority
        pace_of_completion
        duplicates
        40101_and_40102
        tasks_error_cost_tasks_count
        tag_that_is_not_ours
        missing_or_additional_answers
        day_of_the_limits
        per_minute_spending_limits
        postback_body
        after_a_delivered_postback
        webhooks_are_unsigned
        id_list_order_and_status
        user_data_layout
        failed_task_list
        refunds
        rounding_of_the_billing_unit`,
      ),
    ],
    text: [
      ...under(
        'searches',
        'keyword se_domain location_code language_code check_url datetime se_results_count items_count items',
      ),
      ...under(
        'searches.item',
        `type rank_group rank_absolute position app_id title url icon reviews_count rating is_free price
        developer developer_url`,
      ),
      ...under('tasks_ready', 'id se se_type date_posted tag endpoint_advanced endpoint_html'),
    ],
  }),
  notes('Keyword encoding', {
    text: under(
      'keyword_encoding',
      'sequences_are_decoded becomes_a_space encodes come_back_exactly limit_of_700',
    ),
  }),
  notes('Codes by class', {
    text: [
      ...under(
        'code_class',
        '20000_ok 20100_created 40601_40602_pending 402xx 4xxxx 5xxxx any_code_in_10000_60000',
      ),
      ...under('statement', 'get_v3_appendix_errors messages_come_from_there'),
    ],
  }),
]

/** The ids of a section. */
export const rowsOf = ({ tables = [], list = [], text = [] }: Section): readonly string[] => [
  ...tables.flat(),
  ...list,
  ...text,
]

/** Every id, once. */
export const ROWS: ReadonlySet<string> = new Set(SECTIONS.flatMap(rowsOf))
