/** Reports of projects in which something is not watched yet. */
import type { Report } from '../../src/report/read.ts'

/** What the page says of competitors beside their ranks. */
const OWN_ALONE = { standings: [], duels: [], changes: [], ratings: [], reviewCounts: [], lowReviews: [] }

/** Without an own app there is none of these. */
const UNRANKED = { standings: [], comparisons: [], distribution: [], duels: [] }

/** The same as a project begins: nothing watched, no own app, no competitor, nothing to rank an app on. */
export function makeBareReports(report: Report): Readonly<Record<string, Report>> {
  const nothing = { ...UNRANKED, series: [], lists: [], changes: [], annotations: [], impacts: [] }
  const empty = { ...report, ...nothing, ratings: [], reviewCounts: [], lowReviews: [] }
  const own = report.series.filter(({ app }) => report.apps[app]?.role === 'own')
  return {
    'nothing is watched': { ...empty, apps: [] },
    'an app alone is watched': { ...empty, apps: report.apps.slice(0, 1) },
    'no own app is watched': {
      ...report,
      ...UNRANKED,
      apps: report.apps.map((app) => ({ ...app, role: 'competitor' as const })),
    },
    'no competitor is watched': { ...report, apps: report.apps.slice(0, 2), series: own, ...OWN_ALONE },
  }
}
