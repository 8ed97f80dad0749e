/** The names of the tables of storerank. */
import { getTableName, is } from 'drizzle-orm'
import { PgTable } from 'drizzle-orm/pg-core'
import * as schema from './schema/index.ts'

export const TABLE_NAMES: readonly string[] = Object.values(schema).flatMap((each) =>
  is(each, PgTable) ? [getTableName(each)] : [],
)
