/** All benches: what each measures, at which size, and its bars. */
import { measureAlerts } from './alerts.ts'
import { askQuestions } from './ask.ts'
import { atLeast, atMost, type Bench, type Figure, plain } from './bars.ts'
import { measureCommand } from './command.ts'
import { measureDelivered } from './delivered.ts'
import { measureFetched } from './fetched.ts'
import { measureIdle } from './idle.ts'
import { measurePlanning } from './plan.ts'
import { measurePosts } from './posts.ts'
import { QUESTIONS } from './questions.ts'
import { measureReport } from './report.ts'
import { measureRun } from './run.ts'
import { measureStored } from './stored.ts'
import { measureWatches } from './watches.ts'

/** Of a result of 100 apps. */
const RESULT: Readonly<Record<string, Figure>> = {
  'CPU of Node a result': plain('µs'),
  'CPU of Node for reading alone': plain('µs'),
  'CPU of Node against reading alone': atMost(2, '×'),
  'CPU of PostgreSQL a result': atMost(300, 'µs'),
  'statements a result': atMost(0.1),
  'results a second': atLeast(1_700, '/s'),
}

/** The slower one, with planner statistics and without. */
const ASKED: Readonly<Record<string, Figure>> = Object.fromEntries(
  QUESTIONS.map(({ name, barMs }) => [name, barMs === null ? plain('ms') : atMost(barMs, 'ms')]),
)

const IDLE: Readonly<Record<string, Figure>> = {
  'statements a minute': atMost(150),
  'CPU of PostgreSQL a minute': plain('ms'),
}

const RUN: Readonly<Record<string, Figure>> = {
  'results that are missing': atMost(0),
  'ready lists': plain(),
  'half of the results took no longer than': plain('ms'),
  'the least that the limits allow': plain('s'),
  'from the first post to the last result': plain('s'),
  'of these, without a call on its way': plain('s'),
  'against the least': atMost(1.1, '×'),
  'the command in all, with its start and its report': plain('s'),
}

export const BENCHES: Readonly<Record<string, Bench>> = {
  plan: {
    what: 'opening, planning and closing the slots of a day, and the same when nothing is due',
    of: 'daily watches of 50 projects, half of the targets shared by two',
    size: 1_000_000,
    figures: {
      'opening and planning: CPU of PostgreSQL a watch': atMost(25, 'µs'),
      'planning: CPU': atMost(25, 's'),
      'planning: until the first post': atMost(1, 's'),
      'planning: temporary files': atMost(200, 'MiB'),
      'opening the slots of a day': atMost(10, 's'),
      'opening them where all watches are new': atMost(10, 's'),
      '`storerank plan`: CPU': atMost(10, 's'),
      '`storerank plan`: temporary files': atMost(200, 'MiB'),
      'planning when nothing is due': atMost(100, 'ms'),
      'closing the slots of a day': atMost(90, 's'),
      'closing what was planned and never sent': atMost(90, 's'),
      'closing when nothing is over': atMost(100, 'ms'),
      'counting what is outstanding': atMost(300, 'ms'),
      'status: all that it reads': atMost(300, 'ms'),
    },
    measure: measurePlanning,
  },
  watches: {
    what: 'one statement over many watches, triggers and periods included: CPU of PostgreSQL a watch',
    of: 'watches',
    size: 100_000,
    figures: {
      insert: atMost(60, 'µs'),
      watch_problem: plain('µs'),
      'insert, all there': plain('µs'),
      priority: plain('µs'),
      disable: plain('µs'),
      enable: plain('µs'),
      delete: plain('µs'),
    },
    measure: measureWatches,
  },
  posts: {
    what: 'a claim and its settlement on the thirtieth day of a month, beside empty books',
    of: 'charges',
    size: 6_000_000,
    figures: {
      'claim and settle: CPU of PostgreSQL': atMost(30, 'ms'),
      'of it behind the lock': atMost(10, 'ms'),
      'against empty books': atMost(1.3, '×'),
      'claimed, sent and settled by 4 runners': atLeast(30, '/s'),
    },
    measure: measurePosts,
  },
  fetched: {
    what: 'results from the ready list to the history by one runner',
    of: 'results of 100 apps',
    size: 12_000,
    figures: RESULT,
    measure: measureFetched,
  },
  stored: {
    what: 'results as they are stored, and the room that they take',
    of: 'results of 100 apps',
    size: 10_000,
    figures: {
      'results a second': plain('/s'),
      'bytes an observation: the history': plain(),
      'bytes an observation: the history and its charges': atMost(9),
      'bytes an observation: with the numbers of apps': atMost(10),
    },
    measure: measureStored,
  },
  delivered: {
    what: 'results from the service to the history by one receiver',
    of: 'results of 100 apps',
    size: 12_000,
    figures: RESULT,
    measure: measureDelivered,
  },
  questions: {
    what: 'questions about a year of 1,000 keywords: CPU of PostgreSQL, median of five',
    of: 'days',
    size: 365,
    figures: ASKED,
    measure: askQuestions,
  },
  decade: { what: 'the same of ten years', of: 'days', size: 3_650, figures: ASKED, measure: askQuestions },
  report: {
    what: 'the page of 90 days: reading it from the database, drawing it, its size',
    of: 'keywords',
    size: 1_000,
    figures: { 'reading it': atMost(20, 's'), 'drawing it': plain('s'), 'its size': atMost(2, 'MB') },
    measure: measureReport,
  },
  alerts: {
    what: 'eight rules of alerts over the results of a day',
    of: 'keywords',
    size: 100_000,
    figures: {
      CPU: atMost(2_000, 'ms'),
      'wall time': atMost(2_000, 'ms'),
      'CPU of a second rule of a kind': plain('ms'),
      'CPU of a rule against 7 days before': plain('ms'),
      'CPU of a rule against the best': plain('ms'),
      'noting what is due, a keyword': plain('µs'),
    },
    measure: measureAlerts,
  },
  run: {
    what: '`storerank run`, beside the least that the limits of the service allow',
    of: 'keywords',
    size: 5_000,
    figures: RUN,
    measure: (db, size) => measureRun(db, size, false),
  },
  'run-as-sold': {
    what: 'the same at the service as it is sold',
    of: 'keywords',
    size: 5_000,
    figures: RUN,
    measure: (db, size) => measureRun(db, size, true),
  },
  idle: {
    what: 'what `storerank start` asks of its database while nothing is due of 500 keywords',
    of: 'minutes',
    size: 2,
    figures: IDLE,
    measure: (db, size) => measureIdle(db, size, false),
  },
  'idle-as-sold': {
    what: 'the same at the service as it is sold',
    of: 'minutes',
    size: 2,
    figures: IDLE,
    measure: (db, size) => measureIdle(db, size, true),
  },
  command: {
    what: 'a small command from its start to its end: `storerank sql "select 1"`, the median',
    of: 'times',
    size: 9,
    figures: { 'CPU of Node': atMost(0.4, 's') },
    measure: measureCommand,
  },
}
