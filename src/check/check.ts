/**
 * Holds what storerank relies on against a service, by calls that cost nothing. Where it cannot go on,
 * because the login or the names of the stores are wrong, it says only that.
 */
import { AccountError } from '../errors.ts'
import { checkAccount } from './account.ts'
import type { CheckedService } from './checked-service.ts'
import { type Finding, obstacle } from './finding.ts'
import { checkLists, checkOffers, checkStoreNames } from './paths.ts'
import { checkReceiver } from './receiver.ts'
import { checkResults } from './results.ts'
import { checkTaskList } from './task-list.ts'
import { checkWords } from './words.ts'

/**
 * All findings, in the order of what depends on what.
 * @param onStep called before each part, with what is asked
 * @throws what a free call throws when the service does not answer
 */
export async function checkService(
  service: CheckedService,
  onStep: (what: string) => void = () => {},
): Promise<Finding[]> {
  onStep('the account')
  const account = await checkLogin(service)
  if (account.some(({ isObstacle, about }) => isObstacle && about === 'login')) return account
  onStep('the names of the stores')
  const names = await checkStoreNames(service)
  if (names.isObstacle) return [...account, names]
  onStep('its lists')
  const lists = await checkLists(service)
  const offers = await checkOffers(service)
  onStep('its codes and its status')
  const words = await checkWords(service)
  onStep('the tasks of the account')
  const { findings, rows } = await checkTaskList(service)
  const results = await checkResults(service, rows)
  onStep('the receiver of webhooks')
  const receiver = await checkReceiver(service)
  return [...account, names, ...lists, ...offers, ...words, ...findings, ...results, receiver]
}

async function checkLogin(service: CheckedService): Promise<Finding[]> {
  try {
    return await checkAccount(service)
  } catch (error) {
    if (!(error instanceof AccountError)) throw error
    return [obstacle('login', 'The service refuses the account.', error.message)]
  }
}
