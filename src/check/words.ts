/** The codes of the service, its status, and how far its list of failures goes back. */
import { RejectedError } from '../errors.ts'
import type { AppDataClient } from '../service/client.ts'
import { isObject, readCode } from '../service/fields.ts'
import { formatInstant } from '../service/requests.ts'
import { isSingleCode } from '../service/status-codes.ts'
import { type CheckedService, read, rowsIn } from './checked-service.ts'
import { differs, type Finding, holds, unknown } from './finding.ts'

const OURS = ['app_data', 'appendix']
const DAY_MS = 86_400_000
const LONG_AGO_MS = 6 * DAY_MS
/** spec: Errors, those by which money or a person's work is decided. */
const SPECIFIED: Readonly<Record<number, string>> = {
  40100: 'You are not authorized to access this resource.',
  40101: 'Internal SE server error.',
  40102: 'No Search Results.',
  40503: 'pingback or postback not supported in this function.',
}

export async function checkWords(service: CheckedService): Promise<Finding[]> {
  const { client } = service
  return [await checkCodes(client), ...(await checkStatus(client)), await checkFailures(client)]
}

async function checkCodes(client: AppDataClient): Promise<Finding> {
  const about = 'status codes'
  const rows = rowsIn(await client.askFree(read('/v3/appendix/errors'))).filter(isObject)
  const messages = new Map(rows.map((row) => [readCode(row.code), String(row.message)]))
  const byClass = [...messages.keys()].filter((code) => code !== null && !isSingleCode(code))
  const others = Object.entries(SPECIFIED).filter(([code, text]) => messages.get(Number(code)) !== text)
  const says = `${rows.length} codes, of which ${byClass.length} are sorted by their range alone`
  if (others.length === 0) return holds(about, `${says}.`)
  const named = others.map(([code]) => `${code} “${messages.get(Number(code)) ?? 'not listed'}”`)
  return differs(about, `${says}; other words at ${named.join(', ')}.`, 'Numbers decide, and not words.')
}

async function checkStatus(client: AppDataClient): Promise<Finding[]> {
  const about = 'status of the service'
  const apis = await client.getStatus()
  const others = apis.filter(({ api }) => !OURS.includes(api))
  const trouble = apis
    .filter(({ api }) => OURS.includes(api))
    .flatMap(({ api, status, endpoints }) =>
      [{ endpoint: api, status }, ...endpoints].filter(({ status }) => status !== 'ok'),
    )
  const own =
    trouble.length === 0
      ? holds(about, 'All that storerank calls is well.')
      : differs(
          about,
          `${trouble.map(({ endpoint, status }) => `${endpoint}: ${status}`).join(', ')}.`,
          'Nothing is posted in a major outage of posting; results that are late are waited for.',
        )
  if (others.length === 0) return [own]
  const names = others.map(({ api }) => api).join(', ')
  return [own, differs('other parts of the service', `The status names ${names}.`, 'They are left out.')]
}

async function checkFailures(client: AppDataClient): Promise<Finding> {
  const about = 'list of failures'
  const present = await client.readServiceTime()
  const call = {
    kind: 'failed_tasks',
    method: 'POST',
    path: '/v3/app_data/errors',
    body: [{ limit: 1, datetime_from: formatInstant(new Date(present.getTime() - LONG_AGO_MS)) }],
  } as const
  try {
    const { statusCode } = await client.askFree(call)
    if (statusCode === 20000 || statusCode === 40102)
      return differs(about, 'It goes back a week.', 'After a pause all of it is read.')
    return holds(about, 'It goes back a day.')
  } catch (error) {
    if (!(error instanceof RejectedError)) throw error
    return unknown(about, `It was refused: ${error.statusCode}.`)
  }
}
