import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'

import { type ApiOptions, run } from '../../src/cli/api.ts'
import { API_ENDPOINTS, type ApiEndpoint } from '../../src/cli/api-endpoints.ts'
import type { Output } from '../../src/cli/print.ts'
import { readConfig } from '../../src/config.ts'
import { ConfigurationError } from '../../src/errors.ts'
import { type Sandbox, startSandbox } from '../../src/sandbox/server.ts'

let sandbox: Sandbox
before(async () => {
  sandbox = await startSandbox({ readyMs: 0 })
})
after(() => sandbox.close())

function makeOutput() {
  const chunks: string[] = []
  const output = { write: (text: string) => chunks.push(text) > 0 } as unknown as Output
  return { output, text: () => chunks.join('') }
}

async function api(endpoint: ApiEndpoint, fields: string[] = [], more: Partial<ApiOptions> = {}) {
  const [stdout, stderr] = [makeOutput(), makeOutput()]
  const service = { APP_DATA_URL: sandbox.url, APP_DATA_LOGIN: 'sandbox', APP_DATA_PASSWORD: 'sandbox' }
  const context = { config: readConfig(service), stdout: stdout.output, stderr: stderr.output }
  const code = await run({ endpoint, fields, json: true, ...more }, context)
  return { code, stdout: stdout.text(), stderr: stderr.text() }
}

async function post(endpoint: ApiEndpoint, ...fields: string[]) {
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

  test('knows which store has what', async () => {
    const list = await post('app_list/task_post', 'app_collection=topselling_free', 'app_category=game')
    assert.equal((await api('app_list/task_get/advanced', [`id=${list}`])).code, 0)
    assert.equal((await api('app_list/task_get/html', [`id=${list}`])).code, 0)
    const reviews = await post('app_reviews/task_post', 'app_id=389801252')
    assert.equal((await api('app_reviews/task_get/advanced', [`id=${reviews}`])).code, 0)
    await assert.rejects(api('app_list/tasks_ready', [], { store: 'ios_store' }), /ios_store has no app_list/)
  })

  test('calls every endpoint there is', async () => {
    const fields: Partial<Record<string, string[]>> = {
      task_post: ['keyword=yoga', 'app_id=389801252', 'app_collection=topselling_free'],
      task_get: ['id=00000000-0000-4000-8000-000000000000'],
      webhook_resend: ['id=00000000-0000-4000-8000-000000000000'],
    }
    for (const endpoint of API_ENDPOINTS) {
      const [first, second = ''] = endpoint.split('/')
      const subject = { app_searches: 'keyword', app_list: 'app_collection' }[first ?? ''] ?? 'app_id'
      const given = (fields[second] ?? []).filter(
        (field) => second !== 'task_post' || field.startsWith(subject),
      )
      const where = second === 'task_post' ? ['location_code=2840'] : []
      const { stderr } = await api(endpoint, [...given, ...where])
      assert.match(stderr, /^(GET|POST) \/v3\/\S+: \d{5} /, endpoint)
    }
  })

  test('prints tables for people, and a lost or refused task is exit code 1', async () => {
    const { code, stdout } = await api(
      'app_searches/task_post',
      ['keyword=yoga', 'location_code=2840', 'depth=701'],
      {
        json: false,
      },
    )
    assert.equal(code, 1)
    assert.match(stdout, /depth must be a whole number from 1 to 700; it is 701/)
    assert.match((await api('languages', [], { json: false })).stdout, /│ languageName +│ languageCode │/)
    assert.match((await api('appendix/user_data', [], { json: false })).stdout, /balanceMicros/)
    const gone = await api('app_info/task_get/advanced', ['id=00000000-0000-4000-8000-000000000000'])
    assert.deepEqual([gone.code, JSON.parse(gone.stdout).statusCode], [1, 40401])
  })

  test('refuses what it does not understand, before anything is asked', async () => {
    const wrong: [ApiEndpoint, string[], RegExp][] = [
      ['app_searches/task_post', [], /needs keyword=/],
      ['app_searches/task_post', ['keyword=yoga', 'depht=10'], /depht is no field .* Did you mean depth\?/],
      ['app_searches/task_post', ['keyword=a', 'keyword=b'], /keyword is given more than once/],
      ['app_searches/task_post', ['keyword=a', 'depth=ten'], /depth must be a whole number; it is "ten"/],
      ['id_list', ['sort=up'], /sort must be asc or desc; it is "up"/],
      ['id_list', ['datetime_from=yesterday'], /datetime_from must be a time such as/],
      ['appendix/webhook_resend', ['id=x'], /id must be a UUID/],
      ['appendix/status', ['now'], /A field is given as name=value; "now" is not/],
      ['appendix/status', ['a=b'], /appendix\/status, which takes no fields/],
    ]
    for (const [endpoint, fields, message] of wrong) {
      const error = await api(endpoint, fields).catch((reason) => reason)
      assert.ok(error instanceof ConfigurationError, endpoint)
      assert.match(error.message, message)
    }
  })
})
