/** The server, the service, the jobs and the queue, and what alerts cannot tell. */
import { JOBS } from '../../../jobs/index.ts'
import { describeOutage, readPostingOutage, readServiceTroubles } from '../../account/service-status.ts'
import { describeLostTables } from '../../db/requirements.ts'
import { describeOtherWriters } from '../../db/roles.ts'
import { formatMinute } from '../../instant.ts'
import { ageS, type Source, source } from '../figure.ts'

/** What is read is a trouble itself: its sentence, or several. */
function trouble<Read extends string | readonly string[] | null>(kind: string, read: Source<Read>['read']) {
  return source<Read>({ read, troubles: { [kind]: (says) => says } })
}
export const noRoom = trouble('no_room', ({ open }) => open.no_room.message)
export const readOnly = trouble('read_only', ({ open }) => open.read_only.message)
export const restoreHold = trouble('restored', ({ open }) => open.restored.message)
/** Whether the clocks of the database and of the service show the same. */
export const clock = trouble('clock', ({ open }) => open.clock.message)
/** What a person has taken from the database, and forgot to give back after a bulk load. */
export const lostTables = trouble('lost_tables', ({ db }) => describeLostTables(db.sql))
/** Who else may write into the books, with what takes the right away. */
export const otherWriters = trouble('other_writers', ({ db }) => describeOtherWriters(db.sql))

export const outage = source({
  read: ({ db }) => readPostingOutage(db.sql),
  troubles: {
    outage: (known) =>
      known === null ? null : `${describeOutage(known)} Nothing is posted until it is over.`,
  },
})

/** What the service says that is not well, for `status`. */
export const service = source({ read: ({ db }) => readServiceTroubles(db) })

/** Until when the next plan has to be made, and the sentence of a plan that is late; null without a watch. */
export const planning = source({
  read: async ({ db: { sql }, open }) => {
    const [row = null] = await sql<{ dueBy: Date }[]>`select due_by as "dueBy" from plan_deadline`
    return row === null ? null : { ...row, late: open.no_run.message }
  },
  figures: {
    plan_due_timestamp_seconds: {
      help: 'Until when the next plan has to be made: when it has passed, no runner works.',
      value: (read) => (read === null ? null : read.dueBy.getTime() / 1000),
    },
  },
  troubles: { no_run: (read) => read?.late ?? null },
})

interface JobLine {
  readonly job: string
  /** Of its last run; null when it never ran. */
  readonly state: string | null
  readonly at: Date | null
  readonly error: string | null
  readonly lastSuccessAt: Date | null
  /** Runs of the past 24 hours by how they ended. */
  readonly done: number
  readonly failed: number
  readonly missed: number
}

export const jobs = source<readonly JobLine[]>({
  read: ({ db: { sql } }) => sql<JobLine[]>`
    select j.job, last.state, last.at, last.error, success.at as "lastSuccessAt", day.done, day.failed,
      day.missed
    from unnest(${JOBS.map(({ name }) => name)}::text[]) with ordinality as j (job, place)
    left join lateral (
      select r.state, coalesce(r.ended_at, r.started_at, r.slot) as at, r.error from job_run r
      where r.job = j.job and r.state in ('done', 'failed') order by r.slot desc limit 1
    ) last on true
    left join lateral (
      select r.ended_at as at from job_run r where r.job = j.job and r.state = 'done' order by r.slot desc
        limit 1
    ) success on true
    cross join lateral (
      select count(*) filter (where r.state = 'done') as done, count(*)
        filter (where r.state = 'failed') as failed,
        count(*) filter (where r.state = 'missed') as missed
      from job_run r where r.job = j.job and r.slot > (select clock_timestamp() - interval '24 hours')
    ) day
    order by j.place`,
  figures: {
    job_runs_last_day: {
      help: 'Runs of each job within 24 hours, by how they ended.',
      labels: ['job_name', 'state'],
      value: (read) =>
        read.flatMap(({ job, done, failed, missed }) =>
          Object.entries({ done, failed, missed }).map(([state, value]) => ({
            labels: { job_name: job, state },
            value,
          })),
        ),
    },
    job_last_success_age_seconds: {
      help: 'Since the last successful run of each job.',
      labels: ['job_name'],
      value: (read, at) => sampleSuccesses(read, (last) => ageS(last, at) ?? 0),
    },
    job_last_success_timestamp_seconds: {
      help: 'When the last successful run of each job ended.',
      labels: ['job_name'],
      value: (read) => sampleSuccesses(read, (last) => last.getTime() / 1000),
    },
  },
  troubles: {
    job_failed: (read) => read.filter(({ state }) => state === 'failed').map(describeFailed),
  },
})

/** Of the jobs that ever succeeded. */
function sampleSuccesses(read: readonly JobLine[], measure: (last: Date) => number) {
  return read.flatMap(({ job, lastSuccessAt }) =>
    lastSuccessAt === null ? [] : [{ labels: { job_name: job }, value: measure(lastSuccessAt) }],
  )
}

function describeFailed({ job, at, error }: JobLine): string {
  const when = at === null ? 'an unknown time' : formatMinute(at)
  return `The last run of the job ${job}, at ${when}, failed: ${error ?? 'no reason was given'}`
}

export const queue = source({
  /** pg-boss makes its tables with the first command that works; monitoring logins have no right to them. */
  read: async ({ db: { sql } }) => {
    const [row] = await sql<{ isRead: boolean }[]>`
      select has_schema_privilege(relnamespace, 'usage') as "isRead" from pg_class
      where relnamespace = to_regnamespace('pgboss') and relname = 'job'`
    if (!row?.isRead) return []
    return sql<{ queue: string; state: string; jobs: number }[]>`
      select name as queue, state::text, count(*) as jobs from pgboss.job
      where name in ('post', 'fetch', 'job', 'deliver') and state < 'completed' group by 1, 2 order by 1, 2`
  },
  figures: {
    queue_jobs: {
      help: 'Jobs of the queue that have not ended.',
      labels: ['queue', 'state'],
      value: (read) => read.map(({ jobs, ...labels }) => ({ labels, value: jobs })),
    },
  },
})

/**
 * What keeps alerts from being told until a person acts, a sentence for each channel. Rules that match
 * nothing, and a receiver that did not take a message a minute ago, are told by the view and keep nobody
 * awake.
 */
export const undelivered = trouble('not_told', async ({ db: { sql } }) => {
  const rows = await sql<{ message: string }[]>`
    select message from alert_problem
    where problem in ('channel_settings', 'receiver_gone', 'delivery_dead') order by subject, problem`
  return rows.map(({ message }) => message)
})
