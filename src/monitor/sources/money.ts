/** Money of today, budgets, the account and its calls, and whether the service's books and ours agree. */
import type { Database } from '../../db/database.ts'
import { oneRow } from '../../db/one-row.ts'
import { type BudgetLine, readBudgets } from '../../report/money.ts'
import { formatUsd } from '../../text/money.ts'
import { source, USD } from '../figure.ts'

interface Account {
  /** As the account said last; null when it never did. */
  readonly balanceMicros: number | null
  readonly callsUsed: number
}

export const account = source({
  read: async ({ sql }, { callsPerMinute }) => {
    const [row] = await sql<Account[]>`
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

/** Of one project, or of all (`project` is empty). */
export interface MoneyOfToday {
  readonly project: string
  readonly spentMicros: number
  readonly reservedMicros: number
}

export const money = source({
  read: async ({ sql }): Promise<readonly MoneyOfToday[]> => sql<MoneyOfToday[]>`
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
      value: (read) =>
        read.map(({ project, spentMicros }) => ({ labels: { project }, value: spentMicros / USD })),
    },
    reserved_today_usd: {
      help: 'Money reserved today for tasks that are not charged yet; project is empty for all together.',
      labels: ['project'],
      value: (read) =>
        read.map(({ project, reservedMicros }) => ({ labels: { project }, value: reservedMicros / USD })),
    },
  },
})

/** As `status --json` has them; project is empty for all together, as in the metrics of money. */
function labelsOf({ setBy, project, period }: BudgetLine) {
  return { set_by: setBy, project: project ?? '', period }
}

export const budgets = source({
  read: (db, { budget }) => readBudgets(db, budget),
  figures: {
    budget_used_usd: {
      help:
        'What each budget has used, reservations included; set_by is settings, account or project, and ' +
        'project is empty for all together.',
      labels: ['set_by', 'project', 'period'],
      value: (read) => read.map((line) => ({ labels: labelsOf(line), value: line.usedMicros / USD })),
    },
    budget_allowed_usd: {
      help: 'What each budget allows; labels as in budget_used_usd.',
      labels: ['set_by', 'project', 'period'],
      value: (read) => read.map((line) => ({ labels: labelsOf(line), value: line.limitMicros / USD })),
    },
  },
  troubles: {
    balance: (read) => read.find(({ period }) => period === 'balance')?.warning ?? null,
  },
})

const DIFFERENCES_COUNTED = 1_000

export interface Books {
  /** Tasks of ours on which an audit of the past day found a difference, at most DIFFERENCES_COUNTED. */
  readonly differences: number
  /** Charged twice, yesterday and today. */
  readonly duplicateMicros: number
}

/**
 * What other programs buy on the account is no difference of our books. The audit of a day comes in the two
 * nights after it.
 */
async function readBooks({ sql }: Database): Promise<Books> {
  return oneRow(
    await sql<Books[]>`
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
  )
}

export const books = source({
  read: readBooks,
  troubles: {
    books: describeBooks,
  },
})

function describeBooks({ differences, duplicateMicros }: Books): string[] {
  const differ =
    `The audit found ${differences} tasks of which the service's books and ours say different things: ` +
    'select * from audit_problem order by at desc.'
  const duplicate =
    `${formatUsd(duplicateMicros)} was charged for what was charged already: select * from task_problem ` +
    `where kind = 'duplicate'.`
  return [...(differences > 0 ? [differ] : []), ...(duplicateMicros > 0 ? [duplicate] : [])]
}
