/** Writes grafana/dashboards anew: `npm run grafana`. */
import { writeFileSync } from 'node:fs'
import { writeDashboards } from './dashboards.ts'

for (const { path, text } of writeDashboards()) writeFileSync(path, text)
