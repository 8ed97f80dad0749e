/** The dashboards as the files that Grafana loads. */
import { join } from 'node:path'
import { buildOperations } from './operations.ts'
import { buildRanks } from './ranks.ts'

const FOLDER = join(import.meta.dirname, '../dashboards')

export interface DashboardFile {
  readonly path: string
  readonly text: string
}

export function writeDashboards(): DashboardFile[] {
  return [
    { name: 'ranks', dashboard: buildRanks() },
    { name: 'operations', dashboard: buildOperations() },
  ].map(({ name, dashboard }) => ({
    path: join(FOLDER, `${name}.json`),
    text: `${JSON.stringify(dashboard.build(), null, 2)}\n`,
  }))
}
