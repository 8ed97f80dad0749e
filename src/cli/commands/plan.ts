/** What is due, what it would cost and what the budget would cut. */
import type { Database } from '../../db/database.ts'
import { formatInstant } from '../../instant.ts'
import { readWrongClock } from '../../ledger/lock.ts'
import { readRestoreHold } from '../../ledger/restored.ts'
import { type PlanPreview, previewPlan } from '../../plan/plan.ts'
import { hasUnplacedWatches, readNextDue, readProjectProblems } from '../../report/status.ts'
import { formatUsd } from '../../text/money.ts'
import { countOf, formatCount } from '../../text/words.ts'
import { command, flag } from '../command.ts'
import { database } from '../database-session.ts'
import { type Part, table } from '../document.ts'
import { warn } from '../tell.ts'

const PROBLEMS_SHOWN = 5
/** What is watched, and cannot be measured or priced yet. */
export const UNPLACED =
  'Nothing of what is watched can be measured yet: `storerank run` looks up the places first, and ' +
  '`select * from watch_problem` says what else is missing.'
const DECISIONS: Readonly<Record<string, string>> = {
  project_budget: 'cut: over the budget of the project',
  overall_budget: 'cut: over the overall budget',
  dearer_than_project_budget: 'cut: dearer than the whole budget of the project',
  dearer_than_overall_budget: 'cut: dearer than the whole overall budget',
}

export const plan = command({
  group: 'Look',
  summary: 'show what is due, what it would cost and what the budget would cut; posts nothing',
  options: { json: flag('print JSON instead of a table') },
  examples: ['storerank plan --json'],
  needs: database(),
  run: async (_, context, { db }) => {
    const { budget } = context.config
    const data = await previewPlan(db, budget)
    // A mistyped project is a new one, and is told before it costs.
    for (const problem of await readProjectProblems(db, PROBLEMS_SHOWN)) warn(context, problem)
    for (const held of [await readRestoreHold(db.sql), await readWrongClock(db.sql)])
      if (held !== null) warn(context, held)
    const isNothing = data.lines.length === 0
    return { data, parts: isNothing ? [await explainNothing(db)] : describePlan(data, budget.maxRunMicros) }
  },
})

async function explainNothing(db: Database): Promise<string> {
  const next = await readNextDue(db)
  if (next !== null)
    return (
      'Nothing is due now: every slot is measured or under way. The next one begins at ' +
      `${formatInstant(next)}.`
    )
  return (await hasUnplacedWatches(db))
    ? UNPLACED
    : 'Nothing is watched yet: insert into keyword_watch (project, store, keyword, location_code, ' +
        'language_code) values (…).'
}

function describePlan({ lines, ...preview }: PlanPreview, maxRunMicros: number | null): Part[] {
  const rows = lines.map(({ project, store, function: measured, cut, tasks, costMicros }) => ({
    project,
    store,
    function: measured,
    decision: cut === null ? 'buy' : DECISIONS[cut],
    tasks,
    cost: formatUsd(costMicros),
  }))
  const { planned, plannedMicros, cut, cutMicros } = preview
  return [
    table(rows, { right: ['cost'] }),
    `Would buy ${countOf(planned, 'task')} for ${formatUsd(plannedMicros)}; the budget would cut ` +
      `${formatCount(cut)} (${formatUsd(cutMicros)}). Nothing was posted.`,
    maxRunMicros !== null && `MAX_USD_PER_RUN lets one run reserve ${formatUsd(maxRunMicros)}.`,
  ]
}
