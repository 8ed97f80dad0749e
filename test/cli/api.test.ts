import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { API_ENDPOINTS } from '../../src/cli/commands/api.ts'
import { startSandbox } from '../../src/sandbox/server.ts'
import type { Store } from '../../src/service/functions.ts'
import { NOTED_PATHS, PATHS, STORES } from '../contract/paths.ts'
import { callCommand } from '../support/command.ts'
import { createTestDatabase } from '../support/database.ts'
import { lasting } from '../support/lasting.ts'
import { settingsOf } from '../support/sandbox-process.ts'

/** What the specification does not have. */
const ONLY_AS_SOLD: readonly string[] = [
  'app_reviews/task_get/html',
  'app_data/tasks_ready',
  'app_listings/search/live',
]

const sandbox = lasting(() => startSandbox({ readyMs: 0 }))

async function api(
  endpoint: string,
  fields: string[] = [],
  { json = true, store }: { json?: boolean; store?: Store } = {},
) {
  const env = { APP_DATA_URL: sandbox.url, APP_DATA_LOGIN: 'sandbox', APP_DATA_PASSWORD: 'sandbox' }
  const options = [...(json ? ['--json'] : []), ...(store === undefined ? [] : ['--store', store])]
  return callCommand(['api', endpoint, ...fields, ...options], { env })
}

async function post(endpoint: string, ...fields: string[]) {
  const { code, stdout } = await api(endpoint, ['location_code=2840', 'language_code=en', ...fields])
  assert.equal(code, 0)
  return JSON.parse(stdout).answers[0].serviceId as string
}

describe('storerank api', () => {
  test('posts a task by the names of the specification, and fetches what it found', async () => {
    const id = await post('app_searches/task_post', 'keyword=100% c++', 'depth=10', 'tag=mine', 'priority=2')
    const { code, stdout, stderr } = await api('app_searches/task_get/advanced', [`id=${id}`])
    const { kind, data, result } = JSON.parse(stdout)
    assert.deepEqual([code, kind, data.tag, result.keyword], [0, 'done', 'mine', '100% c++'])
    assert.match(
      stderr,
      /^GET \/v3\/app_data\/ios_store\/app_searches\/task_get\/advanced\/\S+: 20000 Ok\. \(version /,
    )
  })

  test('lists tasks up to where the list ends, by the names of the service as it is sold', async () => {
    const sold = await startSandbox({ readyMs: 0, asSold: true })
    try {
      const account = {
        APP_DATA_LOGIN: 'sandbox',
        APP_DATA_PASSWORD: 'sandbox',
        APP_DATA_STORES: 'apple,google',
      }
      const { code, stdout, stderr } = await callCommand(['api', 'id_list', '--json'], {
        env: { ...account, APP_DATA_URL: sold.url },
      })
      assert.deepEqual([code, JSON.parse(stdout)], [0, []], stderr)
      const locations = await callCommand(['api', 'locations', '--json'], {
        env: { ...account, APP_DATA_URL: sold.url },
      })
      assert.equal(JSON.parse(locations.stdout)[0].locationType, 'Country', locations.stderr)
      assert.match(locations.stderr, /^GET \/v3\/app_data\/apple\/locations: 20000 Ok\./)
    } finally {
      await sold.close()
    }
  })

  test('knows which store has what', async () => {
    const list = await post('app_list/task_post', 'app_collection=topselling_free', 'app_category=game')
    assert.equal((await api('app_list/task_get/advanced', [`id=${list}`])).code, 0)
    assert.equal((await api('app_list/task_get/html', [`id=${list}`])).code, 0)
    const reviews = await post('app_reviews/task_post', 'app_id=389801252')
    assert.equal((await api('app_reviews/task_get/advanced', [`id=${reviews}`])).code, 0)
    const refused = await api('app_list/tasks_ready', [], { store: 'ios_store' })
    assert.match(refused.stderr, /ios_store\/app_list\/tasks_ready failed: Not Found/)
  })

  test('calls every endpoint of the specification and of the notes by the end of its path', async () => {
    const subjects = {
      app_searches: 'keyword=yoga',
      app_info: 'app_id=389801252',
      app_list: 'app_collection=topgrossing',
      app_reviews: 'app_id=389801252',
    }
    const unknown = '00000000-0000-4000-8000-000000000000'
    const called = new Set<string>()
    for (const asked of [...Object.values(PATHS).flat(), ...NOTED_PATHS]) {
      const [, , part, ...rest] = asked.split('/')
      const store = STORES.find((name) => name === rest[0])
      const end = rest.filter((segment) => segment !== store && segment !== '{id}').join('/')
      const endpoint = API_ENDPOINTS.find((name) => name === end || name === `${part}/${end}`)
      assert.ok(endpoint, `${asked} has a name`)
      called.add(endpoint)
      const [fn] = endpoint.split('/')
      const fields = [
        ...(endpoint.endsWith('task_post') ? [subjects[fn as 'app_info'], 'location_code=2840'] : []),
        ...(endpoint.includes('task_get') || endpoint.endsWith('resend') ? [`id=${unknown}`] : []),
      ]
      const { stderr } = await api(endpoint, fields, store ? { store } : {})
      // Where the list ends is asked of the service first.
      assert.match(stderr, new RegExp(`^${asked.replace('{id}', unknown)}: \\d{5} `, 'm'))
    }
    const known = [...called, ...ONLY_AS_SOLD].sort()
    assert.deepEqual(known, [...API_ENDPOINTS].sort(), 'every name is one of them')
  })

  test('buys a search in listings through the budget of a project', async (t) => {
    const [sold, database] = [await startSandbox({ deviations: ['endpoints'] }), await createTestDatabase()]
    t.after(() => sold.close())
    t.after(() => database.drop())
    const env = settingsOf(database.url, sold.url)
    const search = (...args: string[]) => callCommand(['api', 'app_listings/search/live', ...args], { env })
    const { code, stdout } = await search('--project', 'research', 'title=yoga', 'limit=3', '--json')
    assert.deepEqual([code, JSON.parse(stdout).items.length, JSON.parse(stdout).costMicros], [0, 3, 10_300])
    const [charge] = await database.sql`select project, usd::float8 from charge_line`
    assert.deepEqual(charge, { project: 'research', usd: 0.0103 })

    const poor = await callCommand(
      ['api', 'app_listings/search/live', '--project', 'research', 'title=yoga'],
      { env: { ...env, MAX_USD_PER_DAY: '0.02' } },
    )
    assert.deepEqual([poor.code, /Nothing was sent\. Raise the budget/.test(poor.stderr)], [3, true])
    assert.match((await search('title=yoga')).stderr, /Say which project pays for the search/)
    const wrong = await search('--project', 'research', 'filters=rating>4')
    assert.match(wrong.stderr, /filters must be a list as JSON/)
    const other = await callCommand(['api', 'languages', '--project', 'x'], { env })
    assert.match(other.stderr, /--project is of app_listings\/search\/live alone/)
  })

  test('names every endpoint in its help', async () => {
    const { stdout } = await callCommand(['api', '--help'])
    const listed = stdout.split('Endpoints:\n')[1]?.match(/^ {2}\S+$/gm) ?? []
    assert.deepEqual(
      listed.map((line) => line.trim()),
      [...API_ENDPOINTS],
    )
  })

  test('prints tables for people, and a lost or refused task is exit code 1', async () => {
    const { code, stdout } = await api(
      'app_searches/task_post',
      ['keyword=yoga', 'location_code=2840', 'depth=701'],
      { json: false },
    )
    assert.equal(code, 1)
    assert.match(stdout, /depth must be a whole number from 1 to 700; it is 701/)
    assert.match((await api('languages', [], { json: false })).stdout, /│ languageName +│ languageCode │/)
    assert.match((await api('appendix/user_data', [], { json: false })).stdout, /balanceMicros/)
    const gone = await api('app_info/task_get/advanced', ['id=00000000-0000-4000-8000-000000000000'])
    assert.deepEqual([gone.code, JSON.parse(gone.stdout).statusCode], [1, 40401])
  })

  test('refuses what it does not understand, before anything is asked', async () => {
    const wrong: [string, string[], RegExp][] = [
      ['app_searches/task_post', ['keyword=yoga', 'depht=10'], /depht is no field .* Did you mean depth\?/],
      ['app_searches/task_post', ['keyword=a', 'keyword=b'], /keyword is given more than once/],
      ['app_searches/task_post', ['keyword=a', 'depth=ten'], /depth must be a whole number; it is "ten"/],
      ['id_list', ['sort=up'], /sort must be asc or desc; it is "up"/],
      ['id_list', ['datetime_from=yesterday'], /datetime_from must be a time such as/],
      ['appendix/webhook_resend', ['id='], /id must be text of 1 to 64 characters/],
      ['appendix/status', ['a=b'], /appendix\/status, which takes no fields/],
    ]
    for (const [endpoint, fields, message] of wrong) {
      const { code, stderr } = await api(endpoint, fields)
      assert.equal(code, 2, endpoint)
      assert.match(stderr, message)
    }
  })
})
