/** Money of today, budgets, the account and its calls, and whether the service's books and ours agree. */
import { oneRow } from '../../db/one-row.ts'
import { type BudgetLine, readBudgets } from '../../report/money.ts'
import { formatUsd } from '../../text/money.ts'
import { source } from '../figure.ts'

const USD = 1_000_000
const sampleOf = (labels: Readonly<Record<string, string>>, micros: number) => ({
  labels,
  value: micros / USD,
})

export const account = source({
  read: async ({ db: { sql }, settings: { callsPerMinute } }) => {
    const [row] = await sql<{ balanceMicros: number | null; callsUsed: number }[]>`
      select a.balance_micros as "balanceMicros", (
        select count(*) from api_call c
        where c.id > w.last_call_id - ${callsPerMinute}::int
          and c.permit_at > clock_timestamp() - interval '1 minute'
      ) as "callsUsed"
      from call_window w left join (select * from account_usage order by fetched_at desc limit 1) a on true`
    return { balanceMicros: null, callsUsed: 0, ...row, callsAllowed: callsPerMinute }
  },
  figures: {
    calls_last_minute: {
      help: 'Calls of the service within the last minute, over all runners.',
      value: ({ callsUsed }) => callsUsed,
    },
    calls_per_minute_allowed: { help: 'CALLS_PER_MINUTE.', value: ({ callsAllowed }) => callsAllowed },
    account_balance_usd: {
      help: "The account's balance, as it was read last.",
      value: ({ balanceMicros }) => (balanceMicros === null ? null : balanceMicros / USD),
    },
  },
})

/** Of each project, and of all together (`project` is empty). */
export const money = source<readonly { project: string; spentMicros: number; reservedMicros: number }[]>({
  read: ({ db: { sql } }) => sql`
    select coalesce(p.name, '') as project,
      sum(s.charged_micros + s.refunded_micros + s.duplicate_micros
        + s.adjusted_micros)::bigint as "spentMicros",
      sum(s.reserved_micros)::bigint as "reservedMicros"
    from spend s left join project p on p.id = s.scope
    where s.begins_at > storerank_now() - interval '3 days' and s.ends_at > storerank_now()
      and s.begins_at <= storerank_now() and (s.scope = 0 or p.id is not null)
    group by 1 order by 1`,
  figures: {
    spent_today_usd: {
      help: 'Money of today, less refunds; project is empty for all together.',
      labels: ['project'],
      value: (read) => read.map(({ project, spentMicros }) => sampleOf({ project }, spentMicros)),
    },
    reserved_today_usd: {
      help: 'Money reserved today for tasks that are not charged yet; project is empty for all together.',
      labels: ['project'],
      value: (read) => read.map(({ project, reservedMicros }) => sampleOf({ project }, reservedMicros)),
    },
  },
})

/** As `status --json` has them; project is empty for all together, as in the metrics of money. */
function labelsOf({ setBy, project, period }: BudgetLine) {
  return { set_by: setBy, project: project ?? '', period }
}

export const budgets = source({
  read: ({ db, settings }) => readBudgets(db, settings.budget),
  figures: {
    budget_used_usd: {
      help:
        'What each budget has used, reservations included; set_by is settings, account or project, and ' +
        'project is empty for all together.',
      labels: ['set_by', 'project', 'period'],
      value: (read) => read.map((line) => sampleOf(labelsOf(line), line.usedMicros)),
    },
    budget_allowed_usd: {
      help: 'What each budget allows; labels as in budget_used_usd.',
      labels: ['set_by', 'project', 'period'],
      value: (read) => read.map((line) => sampleOf(labelsOf(line), line.limitMicros)),
    },
  },
  troubles: { balance: (read) => read.find(({ period }) => period === 'balance')?.warning ?? null },
})

const DIFFERENCES_COUNTED = 1_000

/**
 * What other programs buy on the account is no difference of our books. The audit of a day comes in the two
 * nights after it; what was charged twice counts yesterday and today.
 */
export const books = source({
  read: async ({ db: { sql } }) =>
    oneRow(
      await sql<{ differences: number; duplicateMicros: number }[]>`
      select (
        select count(*) from (
          select from audit_difference d
          where d.posted_at > (select clock_timestamp() - interval '8 days')
            and d.found_at > clock_timestamp() - interval '1 day'
            and (d.kind <> 'unknown' or d.task_id is not null)
          limit ${DIFFERENCES_COUNTED}) found
      ) as differences, (
        select coalesce(sum(s.duplicate_micros), 0)::bigint
        from spend s where s.scope = 0
          and s.begins_at >= date_trunc('day', storerank_now(), 'UTC') - interval '1 day'
      ) as "duplicateMicros"`,
    ),
  troubles: {
    books: ({ differences, duplicateMicros }) => {
      const differ =
        `The audit found ${differences} tasks of which the service's books and ours say different things: ` +
        'select * from audit_problem order by at desc.'
      const duplicate =
        `${formatUsd(duplicateMicros)} was charged for what was charged already: select * from ` +
        `task_problem where kind = 'duplicate'.`
      return [...(differences > 0 ? [differ] : []), ...(duplicateMicros > 0 ? [duplicate] : [])]
    },
  },
})
