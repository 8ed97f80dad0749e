/** The account that the ledger belongs to. */
import { randomBytes } from 'node:crypto'
import type { Database } from '../db/database.ts'
import { ConfigurationError } from '../errors.ts'
import { recordOrigin } from './restored.ts'

const SANDBOX = 'the sandbox'

/**
 * Ties the database to one account, for ever, when it is first used: results of two services must not mix,
 * and no account has the results of another.
 * @param account the login, or how the sandbox is called
 * @returns whether this was the first time
 * @throws ConfigurationError when the database belongs to another account
 */
export async function claimDatabaseFor(db: Database, account: string): Promise<boolean> {
  const { isFirst, owner } = await claim(db, () => account)
  if (owner === account) return isFirst
  throw refuse(owner, account)
}

/**
 * Ties the database to the sandbox likewise. One of a person's own has an account there by its name, because
 * the sandbox of a home may have sold to others.
 * @returns the name of that account; null: the one of the embedded database
 * @throws ConfigurationError when the database belongs to another account
 */
export async function claimSandboxFor(db: Database, isOwn: boolean): Promise<string | null> {
  const { owner } = await claim(db, (name) => (isOwn ? `${SANDBOX} ${name}` : SANDBOX))
  if (owner === SANDBOX) return null
  if (!owner.startsWith(`${SANDBOX} `)) throw refuse(owner, SANDBOX)
  return owner.slice(SANDBOX.length + 1)
}

/** Copies of a database that has never worked get names of their own here, and then know each other. */
async function claim(
  { sql: db }: Database,
  accountOf: (installation: string) => string,
): Promise<{ isFirst: boolean; owner: string }> {
  const name = randomBytes(6).toString('hex')
  const { count } = await db`
    update ledger set account = ${accountOf(name)}, installation = ${name} where account is null`
  if (count > 0) await recordOrigin(db)
  const [row] = await db<{ account: string }[]>`select account from ledger`
  return { isFirst: count > 0, owner: row?.account ?? accountOf(name) }
}

function refuse(owner: string, account: string): ConfigurationError {
  return new ConfigurationError(
    `The database holds what was measured with ${owner}, and must not mix it with ${account}. ` +
      'Mend APP_DATA_URL and APP_DATA_LOGIN, or use another database. (If it is the same account by ' +
      `another name: update ledger set account = '…'.)`,
  )
}
