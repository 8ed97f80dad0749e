/**
 * The roles of people beside the runner, who owns it all: `storerank_editor` writes watchlists and reads the views,
 * `storerank_reader` reads the views. Their rights stand in drizzle/objects, beside what they are rights to.
 */
import type { Transaction } from './transaction.ts'

const ROLES = ['storerank_editor', 'storerank_reader']
/** Roles belong to the whole server: another database of it may have made them, or make them at this moment. */
const MADE_ALREADY = ['42710', '23505']
const MAY_NOT = '42501'

/**
 * Makes the roles where they are missing, and gives them their rights.
 * @returns what hindered it, as a sentence; null when all is well
 */
export async function grantRoles(tx: Transaction, grants: readonly string[]): Promise<string | null> {
  const missing = await tx<{ name: string }[]>`
    select name from unnest(${ROLES}::text[]) name where to_regrole(name) is null`
  for (const { name } of missing) {
    try {
      await tx.savepoint(async (inner) => inner`create role ${inner(name)} nologin`)
    } catch (error) {
      const { code = '' } = error as { code?: string }
      if (code === MAY_NOT) return explainMissingRoles(tx)
      if (!MADE_ALREADY.includes(code)) throw error
    }
  }
  await tx.unsafe(grants.join('\n'))
  return null
}

async function explainMissingRoles(tx: Transaction): Promise<string> {
  const [row] = await tx<{ name: string }[]>`select current_user as name`
  const statements = ROLES.map((role) => `create role ${role} nologin;`).join(' ')
  return `The roles ${ROLES.join(' and ')} were not made, because ${row?.name} may not make roles. A role that may make them runs: ${statements} and then \`storerank migrate\` gives them their rights.`
}
