/** The account that the ledger belongs to. */
import type { Database } from '../db/database.ts'
import { ConfigurationError } from '../errors.ts'

/**
 * Ties the database to one account, for ever, when it is used for the first time. Results of two services
 * must not mix in one history, and an account cannot fetch results that another account has paid for.
 * @param account the login, or how the sandbox is called
 * @returns whether this was the first time
 * @throws ConfigurationError when the database belongs to another account
 */
export async function claimDatabaseFor(db: Database, account: string): Promise<boolean> {
  const { count } = await db.sql`update ledger set account = ${account} where account is null`
  const [owner] = await db.sql<{ account: string }[]>`select account from ledger`
  if (owner === undefined || owner.account === account) return count > 0
  throw new ConfigurationError(
    `The database holds what was measured with ${owner.account}, and must not mix it with ${account}. ` +
      'Mend APP_DATA_URL and APP_DATA_LOGIN, or use another database. (If it is the same account by ' +
      `another name: update ledger set account = '…'.)`,
  )
}
