/**
 * A runner without scheduled jobs, as a process of its own. Arguments: URLs of the database and of the
 * service. It says that it works.
 */
import { openDatabase } from '../../src/db/database.ts'
import { startRunner } from '../../src/queue/runner.ts'
import { openContext } from './context.ts'
import { SETTINGS } from './settings.ts'
import { answerMessages } from './talk.ts'

const [databaseUrl = '', baseUrl = ''] = process.argv.slice(2)
/** The limits of the account are out of the way: as many requests at once as all runners have connections. */
const settings = {
  ...SETTINGS,
  callsPerMinute: 1_000_000,
  maxConcurrentRequests: 4 * SETTINGS.maxConcurrentRequests,
}
const service = { maxConcurrent: SETTINGS.maxConcurrentRequests }
await startRunner(await openContext(openDatabase(databaseUrl), baseUrl, service, settings), [])
process.send?.({})
answerMessages(() => ({}))
