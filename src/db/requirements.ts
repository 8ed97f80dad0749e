/** What storerank needs of a database, and what no connection can set for itself. */
import type postgres from 'postgres'
import { ConfigurationError } from '../errors.ts'

/** `unique … nulls not distinct`; tested on 15 to 18. */
const OLDEST_SERVER = 150_000

export interface DatabaseNature {
  readonly database: string
  readonly version: string
  readonly versionNumber: number
  readonly encoding: string
  /** Null before PostgreSQL 17. */
  readonly transactionTimeout: string | null
  readonly replicationRole: string
}

/** @throws ConfigurationError when storerank cannot work in the database, with what to do */
export async function refuseUnfitDatabase(sql: postgres.Sql): Promise<void> {
  const [nature] = await sql<DatabaseNature[]>`
    select current_database() as database, current_setting('server_version') as version,
      current_setting('server_version_num')::int as "versionNumber", current_setting('server_encoding') as encoding,
      current_setting('transaction_timeout', true) as "transactionTimeout",
      current_setting('session_replication_role') as "replicationRole"`
  const obstacle = nature === undefined ? null : findObstacle(nature)
  if (obstacle !== null) throw new ConfigurationError(obstacle)
}

/** The first thing that makes a database unfit, as a sentence; null when it is fit. */
export function findObstacle(nature: DatabaseNature): string | null {
  if (nature.versionNumber < OLDEST_SERVER) {
    return `The database server is PostgreSQL ${nature.version}; storerank needs 15 or later. Set DATABASE_URL to such a server, or unset it to use the embedded one.`
  }
  if (nature.encoding !== 'UTF8') {
    return `The database ${nature.database} is encoded in ${nature.encoding}, which cannot hold every keyword and title. Make another one with \`create database … encoding 'UTF8' template template0\`, and name it in DATABASE_URL.`
  }
  if (!['0', null].includes(nature.transactionTimeout)) {
    return `The login of DATABASE_URL has a transaction_timeout of ${nature.transactionTimeout}, which would cut work off in the middle. Take it away: \`alter role … set transaction_timeout = 0\`.`
  }
  if (nature.replicationRole !== 'origin') {
    return `The login of DATABASE_URL has the session_replication_role ${nature.replicationRole}, under which no trigger runs. Take it away: \`alter role … reset session_replication_role\`.`
  }
  return null
}
