/** What the operators' dashboard shows of problems. */
import postgres from 'postgres'
import { choose, type Dashboard, fill, readDashboards } from './panels.ts'

const PANEL = 'Problems, and what to do'

/** As one sees it who may only read, by a connection of its own: a full disk is a matter of the session. */
export async function readProblemsPanel(url: string) {
  const dashboard = readDashboards().get('operations') as Dashboard
  const sql = postgres(url, { max: 1 })
  try {
    const query = async (text: string) => {
      const [, rows] = await sql.begin((tx) => [tx`set local role storerank_reader`, tx.unsafe(text)])
      return rows
    }
    const now = Date.now()
    const day = { from: new Date(now - 86_400_000).toISOString(), to: new Date(now + 60_000).toISOString() }
    const chosen = await choose(dashboard, day, {}, query)
    const panel = dashboard.panels.find(({ title }) => title === PANEL)
    return await query(fill(panel?.targets[0]?.rawSql ?? '', chosen, dashboard.templating.list))
  } finally {
    await sql.end()
  }
}
