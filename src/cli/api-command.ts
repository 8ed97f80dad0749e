/** The options of `storerank api`. */
import { type Command, Option } from 'commander'
import { API_ENDPOINTS, type ApiEndpoint } from './api-endpoints.ts'
import type { ApiOptions, Invoke } from './command.ts'
import { parseEndpoint } from './option-values.ts'

export function addApi(
  program: Command,
  invoke: Invoke,
  addExample: (command: Command, example: string) => void,
): void {
  const api = program
    .command('api')
    .description(
      'call one endpoint of the service by hand; what it posts is charged, and counts in no budget here, but for app_listings/search/live',
    )
    .argument('<endpoint>', 'one of those below', parseEndpoint)
    .argument('[field=value...]', 'fields by their names in the specification, such as keyword=yoga')
    .addOption(
      new Option('--store <store>', 'where both stores have it').choices(['ios_store', 'android_store']),
    )
    .option('--project <name>', 'whose budget pays for app_listings/search/live')
    .option('--json', 'print JSON instead of tables', false)
    .action(
      (endpoint: ApiEndpoint, fields: readonly string[], flags: Omit<ApiOptions, 'endpoint' | 'fields'>) =>
        invoke('api', { endpoint, fields, ...flags }),
    )
  api.addHelpText('after', `\nEndpoints:\n  ${API_ENDPOINTS.join('\n  ')}`)
  addExample(
    api,
    'storerank api app_searches/task_post keyword=yoga location_code=2840 language_code=en --json',
  )
  addExample(api, 'storerank api app_listings/search/live --project fitness title=yoga limit=20')
}
