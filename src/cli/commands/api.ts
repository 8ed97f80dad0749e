import { API_ENDPOINTS } from '../api-endpoints.ts'
import { argument, command, flag, option } from '../command.ts'
import { oneOf } from '../option-values.ts'

export const api = command({
  name: 'api',
  group: 'The service',
  summary:
    'call one endpoint by hand; what it posts is charged and in no budget here, ' +
    'but for app_listings/search/live',
  arguments: {
    endpoint: argument('<endpoint>', 'one of those below', oneOf('endpoint', API_ENDPOINTS)),
    fields: argument('[field=value...]', 'fields by their names in the specification, such as keyword=yoga'),
  },
  options: {
    store: option('<store>', 'where both have it', oneOf('store', ['ios_store', 'android_store'])),
    project: option('<name>', 'whose budget pays for app_listings/search/live'),
    json: flag('print JSON instead of tables'),
  },
  examples: [
    'storerank api app_searches/task_post keyword=yoga location_code=2840 language_code=en --json',
    'storerank api app_listings/search/live --project fitness title=yoga limit=20',
  ],
  notes: `Endpoints:\n  ${API_ENDPOINTS.join('\n  ')}`,
  run: async (options, context) => (await import('../api.ts')).callEndpoint(options, context),
})
