/** Tasks and slots that have not ended. */
import { formatMinute } from '../../instant.ts'
import { ageS, type Open, source } from '../figure.ts'

/** The quiet time and two scans are over by then. */
const UNKNOWN_TOO_LONG_S = 3_600
/** Results are overdue after 45 minutes, and asked for by id: hours later it is no delay any more. */
const OVERDUE_TOO_LONG_S = 6 * 3_600

const STATES = ['planned', 'posting', 'posted'] as const
const DUE = ['unplanned', ...STATES, 'budget_cut'] as const

/** How many there are of a kind of the view `open_work`. */
const countOf = (kind: keyof Open, help: string) => ({ help, value: (open: Open) => open[kind].count })

export const work = source({
  read: ({ open }) => open,
  figures: {
    tasks: {
      help: 'Tasks that have not ended, by state.',
      labels: ['state'],
      value: (open) => STATES.map((state) => ({ labels: { state }, value: open[state].count })),
    },
    due_slots: {
      help:
        'Slots that are due and not measured: no plan has looked at them yet, their tasks have not ended, ' +
        'or the budget does not reach them.',
      value: (open) => DUE.reduce((sum, kind) => sum + open[kind].count, 0),
    },
    unplanned_slots: countOf(
      'unplanned',
      'Slots that are due and that no plan has looked at yet: one for each watch, also where several share ' +
        'a target.',
    ),
    budget_cut_slots: countOf('budget_cut', 'Slots that are due and that the budget does not reach.'),
    overdue_tasks: countOf('overdue', 'Posted tasks whose result is later than OVERDUE_AFTER.'),
    oldest_due_slot_age_seconds: {
      help: 'Age of the oldest slot that is due and not measured, planned or not; 0 without one.',
      value: (open, at) => Math.max(...DUE.map((kind) => ageS(open[kind].since, at) ?? 0)),
    },
    unknown_posts: countOf('unknown_post', 'Posts whose answer was lost and that are being looked for.'),
    held_posts: countOf('held_post', 'Posts that are ready and not sent, for a reason that status shows.'),
    refused_tasks: countOf(
      'refused_task',
      'Tasks that the service refused for money or the account, and that are tried again.',
    ),
  },
  troubles: {
    not_posted: ({ held_post, refused_task }, isHeld) =>
      isHeld ? null : [held_post, refused_task].flatMap(({ message }) => message ?? []),
    unknown_posts: ({ unknown_post: { count, since } }, _, at) =>
      since !== null && (ageS(since, at) ?? 0) > UNKNOWN_TOO_LONG_S
        ? `${count} posts are unknown, the oldest since ${formatMinute(since)}: look whether the job ` +
          'reconcile fails.'
        : null,
    overdue: ({ overdue: { count, since } }, _, at) =>
      since !== null && (ageS(since, at) ?? 0) > OVERDUE_TOO_LONG_S
        ? `${count} results are overdue, the oldest posted at ${formatMinute(since)}: select * from ` +
          `task_problem where kind = 'overdue'.`
        : null,
    budget: ({ budget_cut }) => budget_cut.message,
  },
})
