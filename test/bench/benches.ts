/** All benches: what each measures, and at which size its bars hold. */
import { measureAlerts } from './alerts.ts'
import { askQuestions } from './ask.ts'
import type { Bench } from './bars.ts'
import { measureCommand } from './command.ts'
import { measureDelivered } from './delivered.ts'
import { measureFetched } from './fetched.ts'
import { measureIdle } from './idle.ts'
import { measurePlanning } from './plan.ts'
import { measurePosts } from './posts.ts'
import { measureReport } from './report.ts'
import { measureRun } from './run.ts'
import { measureStored } from './stored.ts'
import { measureWatches } from './watches.ts'

export const BENCHES: Readonly<Record<string, Bench>> = {
  plan: {
    what: 'opening, planning and closing the slots of a day, and the same when nothing is due',
    of: 'daily watches of 50 projects, half of the targets shared by two',
    size: 1_000_000,
    measure: measurePlanning,
  },
  watches: {
    what: 'one statement over many watches, triggers and periods included: CPU of PostgreSQL a watch',
    of: 'watches',
    size: 100_000,
    measure: measureWatches,
  },
  posts: {
    what: 'a claim and its settlement on the thirtieth day of a month, beside empty books',
    of: 'charges',
    size: 6_000_000,
    measure: measurePosts,
  },
  fetched: {
    what: 'results from the ready list to the history by one runner',
    of: 'results of 100 apps',
    size: 12_000,
    measure: measureFetched,
  },
  stored: {
    what: 'results as they are stored, and the room that they take',
    of: 'results of 100 apps',
    size: 10_000,
    measure: measureStored,
  },
  delivered: {
    what: 'results from the service to the history by one receiver',
    of: 'results of 100 apps',
    size: 12_000,
    measure: measureDelivered,
  },
  questions: {
    what: 'questions about a year of 1,000 keywords: CPU of PostgreSQL, median of five',
    of: 'days',
    size: 365,
    measure: askQuestions,
  },
  decade: { what: 'the same of ten years', of: 'days', size: 3_650, measure: askQuestions },
  report: {
    what: 'the page of 90 days: reading it from the database, drawing it, its size',
    of: 'keywords',
    size: 1_000,
    measure: measureReport,
  },
  alerts: {
    what: 'eight rules of alerts over the results of a day',
    of: 'keywords',
    size: 100_000,
    measure: measureAlerts,
  },
  run: {
    what: '`storerank run`, beside the least that the limits of the service allow',
    of: 'keywords',
    size: 5_000,
    measure: (db, size) => measureRun(db, size, false),
  },
  'run-as-sold': {
    what: 'the same at the service as it is sold',
    of: 'keywords',
    size: 5_000,
    measure: (db, size) => measureRun(db, size, true),
  },
  idle: {
    what: 'what `storerank start` asks of its database while nothing is due of 500 keywords',
    of: 'minutes',
    size: 2,
    measure: (db, size) => measureIdle(db, size, false),
  },
  'idle-as-sold': {
    what: 'the same at the service as it is sold',
    of: 'minutes',
    size: 2,
    measure: (db, size) => measureIdle(db, size, true),
  },
  command: {
    what: 'a small command from its start to its end: `storerank sql "select 1"`, the median',
    of: 'times',
    size: 9,
    measure: measureCommand,
  },
}
