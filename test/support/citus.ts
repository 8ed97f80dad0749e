/**
 * Databases on a cluster of Citus that stands already: `TEST_CITUS_URL` names a database on its coordinator,
 * in which the extension is and the nodes are registered, and a superuser who may log in to all of them.
 */
import { randomBytes } from 'node:crypto'
import postgres from 'postgres'
import { migrate } from '../../src/db/migrate.ts'
import type { TestDatabase } from './database.ts'

const { TEST_CITUS_URL } = process.env

/** Why tests of a distributed history are skipped; false when they are not. */
export const WITHOUT_CITUS =
  TEST_CITUS_URL === undefined ? 'TEST_CITUS_URL names no coordinator of Citus' : false

interface Node {
  readonly host: string
  readonly port: number
  readonly isCoordinator: boolean
}

const open = (url: URL) => postgres(url.href, { max: 1, onnotice: () => undefined })

/**
 * A database of its own on the coordinator and all workers, with the schema of this version; not distributed
 * yet.
 */
export async function createCitusDatabase(): Promise<TestDatabase> {
  const given = new URL(TEST_CITUS_URL ?? '')
  const name = `storerank_citus_${randomBytes(6).toString('hex')}`
  const admin = open(given)
  const nodes = await admin<Node[]>`
    select nodename as host, nodeport as port, groupid = 0 as "isCoordinator" from pg_dist_node
      order by groupid desc`
  await admin.end()
  const on = ({ host, port }: Node, database: string) => {
    const url = new URL(given)
    Object.assign(url, { hostname: host, port: String(port), pathname: `/${database}` })
    return url
  }
  const each = async (database: string, work: (sql: postgres.Sql, node: Node) => Promise<unknown>) => {
    for (const node of nodes) {
      const sql = open(on(node, database))
      await work(sql, node).finally(() => sql.end())
    }
  }
  await each('postgres', (sql) => sql`create database ${sql(name)} encoding 'UTF8' template template0`)
  // The workers come first.
  await each(name, async (sql, { isCoordinator, host, port }) => {
    await sql`create extension citus`
    if (!isCoordinator) return
    await sql`select citus_set_coordinator_host(${host}, ${port})`
    for (const node of nodes)
      if (!node.isCoordinator) await sql`select citus_add_node(${node.host}, ${node.port})`
    await sql`alter database ${sql(name)} set citus.shard_count = 4`
  })
  const url = new URL(given)
  url.pathname = `/${name}`
  await migrate(url.href)
  const sql = postgres(url.href, { max: 10, onnotice: () => undefined })
  return {
    url: url.href,
    sql,
    async drop() {
      await sql.end({ timeout: 5 })
      await each('postgres', (admin) => admin`drop database if exists ${admin(name)} with (force)`)
    },
  }
}
