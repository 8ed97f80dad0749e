/**
 * Holds what storerank relies on against a service, by calls that cost nothing. Where it cannot go on,
 * because the login or the names of the stores are wrong, it says only that.
 */
import { request } from 'undici'
import { AccountError } from '../errors.ts'
import { openWay, type ProxySettings } from '../proxy.ts'
import type { AppDataClient } from '../service/client.ts'
import { findObstacle } from '../trouble.ts'
import { checkAccount, checkCodes, checkFailures, checkStatus } from './appendix.ts'
import { differs, type Finding, holds, obstacle } from './finding.ts'
import { checkLists, checkOffers, checkStoreNames } from './paths.ts'
import { checkResults, checkTaskList } from './tasks.ts'

/** The service that is checked, and what is known of the one who checks it. */
export interface CheckedService {
  readonly client: AppDataClient
  /** A client that calls the stores by other names; the caller closes it. */
  readonly openNamed: (names: string) => AppDataClient
  /** `ledger.installation` of this database. */
  readonly installation: string
  /** Where results are delivered; null without POSTBACK_URL. */
  readonly postbackUrl: string | null
  readonly proxy: ProxySettings
  readonly signal: AbortSignal
}

/** All findings, in the order of what depends on what. Throws what a free call throws. */
export async function checkService(
  service: CheckedService,
  onStep: (what: string) => void = () => {},
): Promise<Finding[]> {
  const { client } = service
  onStep('the account')
  const account = await checkAccount(client).catch((error: unknown) => {
    if (!(error instanceof AccountError)) throw error
    return [obstacle('login', `The service refuses the account. ${error.message}`)]
  })
  if (account.some(({ isObstacle, about }) => isObstacle && about === 'login')) return account
  onStep('the names of the stores')
  const names = await checkStoreNames(client, service.openNamed)
  if (names.isObstacle) return [...account, names]
  onStep('its lists')
  const lists = [...(await checkLists(client)), ...(await checkOffers(client))]
  onStep('its codes and its status')
  const words = [await checkCodes(client), ...(await checkStatus(client)), await checkFailures(client)]
  onStep('the tasks of the account')
  const { findings, rows } = await checkTaskList(client, service.installation)
  const results = await checkResults(client, rows)
  onStep('the receiver of webhooks')
  return [...account, names, ...lists, ...words, ...findings, ...results, await checkReceiver(service)]
}

const RECEIVER_TIMEOUT_MS = 10_000

/** Whether the address of webhooks answers from here. Whether the service reaches it, only a task tells. */
async function checkReceiver({ postbackUrl, proxy, signal }: CheckedService): Promise<Finding> {
  const about = 'POSTBACK_URL'
  if (postbackUrl === null) return holds(about, 'Not set: results are fetched, and not delivered.')
  // Without the secret, which is the last segment of its path: the receiver answers 404, and takes nothing.
  const { origin } = new URL(postbackUrl)
  const dispatcher = openWay(new URL(origin), proxy)
  try {
    const timeout = AbortSignal.timeout(RECEIVER_TIMEOUT_MS)
    const { statusCode, body } = await request(origin, {
      dispatcher,
      signal: AbortSignal.any([signal, timeout]),
    })
    await body.dump()
    return holds(about, `Something answers there from here (HTTP ${statusCode}).`)
  } catch (error) {
    signal.throwIfAborted()
    return differs(
      about,
      `Nothing answers there from here: ${findObstacle(error).reason}. ` +
        'Where the service does not reach it either, results are fetched instead.',
    )
  } finally {
    await dispatcher.destroy()
  }
}
