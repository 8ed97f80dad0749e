/** `storerank plan`: what is due, what it would cost, what the budget would cut. Posts nothing. */
import { requireCurrentSchema } from '../db/migrate.ts'
import { toPrintable } from '../log.ts'
import { previewPlan } from '../plan/plan.ts'
import { readNextDue } from '../report/ranks.ts'
import { hasUnplacedWatches, readProjectProblems } from '../report/status.ts'
import type { CommandContext, CommandOptions } from './command.ts'
import { openDatabaseSession } from './database-session.ts'
import { formatCount, formatInstant, formatMicros, printJson, printTable } from './print.ts'

const PROBLEMS_SHOWN = 5
/** What is watched, and cannot be measured or priced yet. */
export const UNPLACED =
  'Nothing of what is watched can be measured yet: `storerank run` looks up the places first, and `select * from watch_problem` says what else is missing.'
const REASONS: Readonly<Record<string, string>> = {
  project_budget: 'cut: over the budget of the project',
  overall_budget: 'cut: over the overall budget',
  dearer_than_project_budget: 'cut: dearer than the whole budget of the project',
  dearer_than_overall_budget: 'cut: dearer than the whole overall budget',
}

export async function run({ json }: CommandOptions['plan'], context: CommandContext): Promise<number> {
  const session = await openDatabaseSession(context, { migrates: false })
  try {
    await requireCurrentSchema(session.db)
    const { budget } = context.config
    const preview = await previewPlan(session.db, budget)
    // A mistyped project is a new one, and is told before it costs.
    for (const message of await readProjectProblems(session.db, PROBLEMS_SHOWN)) {
      context.stderr.write(`${toPrintable(message)}\n`)
    }
    if (json) {
      printJson(preview, context)
      return 0
    }
    const rows = preview.lines.map((line) => ({
      project: line.project,
      store: line.store,
      function: line.function,
      decision: line.cut === null ? 'buy' : REASONS[line.cut],
      tasks: line.tasks,
      cost: formatMicros(line.costMicros),
    }))
    if (rows.length === 0) {
      const next = await readNextDue(session.db)
      context.stdout.write(
        next === null && (await hasUnplacedWatches(session.db))
          ? `${UNPLACED}\n`
          : next === null
            ? 'Nothing is watched yet: insert into keyword_watch (project, store, keyword, location_code, language_code) values (…).\n'
            : `Nothing is due now: every slot is measured or under way. The next one begins at ${formatInstant(next)}.\n`,
      )
      return 0
    }
    const columns = ['project', 'store', 'function', 'decision', 'tasks'].map((key) => ({ key }))
    printTable(rows, [...columns, { key: 'cost', align: 'right' }], context)
    context.stdout.write(
      `Would buy ${formatCount(preview.planned)} ${preview.planned === 1 ? 'task' : 'tasks'} for ${formatMicros(preview.plannedMicros)}; ` +
        `the budget would cut ${formatCount(preview.cut)} (${formatMicros(preview.cutMicros)}). Nothing was posted.\n`,
    )
    if (budget.maxRunMicros !== null) {
      context.stdout.write(`MAX_USD_PER_RUN lets one run reserve ${formatMicros(budget.maxRunMicros)}.\n`)
    }
    return 0
  } finally {
    await session.close()
  }
}
