/** Tasks and slots that have not ended. */
import type { Database } from '../../db/database.ts'
import { formatMinute } from '../../instant.ts'
import { type OpenWork, readOpenWork } from '../../report/status.ts'
import { ageS, isOlder, source } from '../figure.ts'

/** The quiet time and two scans are over by then. */
const UNKNOWN_TOO_LONG_HOURS = 1
/** Results are overdue after 45 minutes, and asked for by id: hours later it is no delay any more. */
const OVERDUE_TOO_LONG_HOURS = 6

async function readWork(db: Database) {
  const open = await readOpenWork(db)
  const of = (kind: string): Omit<OpenWork, 'kind'> =>
    open.find((each) => each.kind === kind) ?? { count: 0, since: null, message: null }
  const due = ['unplanned', 'planned', 'posting', 'posted', 'budget_cut'].flatMap(
    (kind) => of(kind).since ?? [],
  )
  return {
    open,
    planned: of('planned').count,
    posting: of('posting').count,
    posted: of('posted').count,
    /** Watches whose slot is due and that no plan has looked at yet. */
    unplanned: of('unplanned').count,
    cut: of('budget_cut').count,
    /** Posted, and later than OVERDUE_AFTER, whether they were asked for by id or not. */
    overdue: of('overdue').count,
    overdueSince: of('overdue').since,
    oldestSlot: due.reduce<Date | null>((old, slot) => (old !== null && old < slot ? old : slot), null),
    unknownPosts: of('unknown_post').count,
    unknownSince: of('unknown_post').since,
    heldPosts: of('held_post').count,
    refusedTasks: of('refused_task').count,
    notPosted: ['held_post', 'refused_task'].flatMap((kind) => of(kind).message ?? []),
    overBudget: of('budget_cut').message,
  }
}

export const work = source({
  read: readWork,
  figures: {
    tasks: {
      help: 'Tasks that have not ended, by state.',
      labels: ['state'],
      value: (read) =>
        (['planned', 'posting', 'posted'] as const).map((state) => ({
          labels: { state },
          value: read[state],
        })),
    },
    due_slots: {
      help:
        'Slots that are due and not measured: no plan has looked at them yet, their tasks have not ended, ' +
        'or the budget does not reach them.',
      value: ({ unplanned, planned, posting, posted, cut }) => unplanned + planned + posting + posted + cut,
    },
    unplanned_slots: {
      help:
        'Slots that are due and that no plan has looked at yet: one for each watch, also where several ' +
        'share a target.',
      value: ({ unplanned }) => unplanned,
    },
    budget_cut_slots: {
      help: 'Slots that are due and that the budget does not reach.',
      value: ({ cut }) => cut,
    },
    overdue_tasks: {
      help: 'Posted tasks whose result is later than OVERDUE_AFTER.',
      value: ({ overdue }) => overdue,
    },
    oldest_due_slot_age_seconds: {
      help: 'Age of the oldest slot that is due and not measured, planned or not; 0 without one.',
      value: ({ oldestSlot }, at) => ageS(oldestSlot, at) ?? 0,
    },
    unknown_posts: {
      help: 'Posts whose answer was lost and that are being looked for.',
      value: ({ unknownPosts }) => unknownPosts,
    },
    held_posts: {
      help: 'Posts that are ready and not sent, for a reason that status shows.',
      value: ({ heldPosts }) => heldPosts,
    },
    refused_tasks: {
      help: 'Tasks that the service refused for money or the account, and that are tried again.',
      value: ({ refusedTasks }) => refusedTasks,
    },
  },
  troubles: {
    not_posted: ({ notPosted }, { isHeld }) => (isHeld ? null : notPosted),
    unknown_posts: ({ unknownPosts, unknownSince: since }, { at }) =>
      since !== null && isOlder(since, at, UNKNOWN_TOO_LONG_HOURS)
        ? `${unknownPosts} posts are unknown, the oldest since ${formatMinute(since)}: look whether the ` +
          'job reconcile fails.'
        : null,
    overdue: ({ overdue, overdueSince: since }, { at }) =>
      since !== null && isOlder(since, at, OVERDUE_TOO_LONG_HOURS)
        ? `${overdue} results are overdue, the oldest posted at ${formatMinute(since)}: select * from ` +
          `task_problem where kind = 'overdue'.`
        : null,
    budget: ({ overBudget }) => overBudget,
  },
})
