/**
 * `begin`: the one way to run a transaction. Nothing else in storerank calls the driver's own `begin`; the type of
 * `Database.sql` does not offer it.
 */
import type postgres from 'postgres'

/** The driver's types that differ from its defaults. */
export type Types = { int8: number }

/** The statements of one transaction. */
export interface Transaction extends postgres.ISql<Types> {
  /** Runs `work` behind a savepoint: when it throws, only what it did is rolled back, and its error is thrown. */
  savepoint<T>(work: (tx: Transaction) => Promise<T>): Promise<T>
}

export interface TransactionOptions {
  /** All statements see the database as it was at the first one, and none may write. */
  readonly isReadOnlySnapshot?: boolean
}

/**
 * Runs `work` in a transaction, and commits it when `work` resolves.
 * @returns what `work` resolved to
 * @throws what `work` threw, after a rollback; the database's error
 */
export type Begin = <T>(work: (tx: Transaction) => Promise<T>, options?: TransactionOptions) => Promise<T>

export function createBegin(client: postgres.Sql<Types>): Begin {
  return <T>(work: (tx: Transaction) => Promise<T>, options: TransactionOptions = {}) => {
    const mode = options.isReadOnlySnapshot ? 'isolation level repeatable read read only' : ''
    return client.begin(mode, (tx) => work(tx as unknown as Transaction)) as Promise<T>
  }
}
