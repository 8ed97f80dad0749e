/**
 * Logins for people beside the runner, with a password of their own, as members of the roles that the
 * migration makes.
 */
import { randomBytes } from 'node:crypto'
import postgres, { type Sql } from 'postgres'

export type Role = 'storerank_editor' | 'storerank_reader'

export interface Person {
  readonly name: string
  /** With the password, for a command that logs in. */
  readonly url: string
  /** Logged in over TCP, on one connection, so that what is set stays set. */
  readonly sql: Sql
  /** Takes the login off the server. */
  remove(): Promise<void>
}

/** Gives somebody a login to the database of `owner`, who must be allowed to make roles. */
export async function addPerson(owner: Sql, role: Role): Promise<Person> {
  const name = `${role}_${randomBytes(6).toString('hex')}`
  const password = randomBytes(12).toString('hex')
  await owner.unsafe(`create role ${name} login password '${password}' in role ${role}`)
  const { host, port, database } = owner.options
  const url = `postgres://${name}:${password}@${host[0]}:${port[0]}/${database}`
  const sql = postgres(url, { max: 1, onnotice: () => undefined })
  return {
    name,
    url,
    sql,
    async remove() {
      await sql.end()
      await owner.unsafe(`drop role ${name}`)
    },
  }
}
