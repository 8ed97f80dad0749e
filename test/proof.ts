/**
 * What `npm run proof` runs, beside `npm test`: every `*.proof.ts` (kills, faults, guards, scale), and some
 * of `npm test` once more, on an installed PostgreSQL and at odd instants. `npm run proof -- STEP…` runs only
 * these steps, and fails when one of them cannot be run here: .ci/run asks for the server, on which a restore
 * goes by pg_dump.
 */
import process from 'node:process'
import { FOLDER_OF_DEBIAN, findInstalled } from './support/installed.ts'
import { clockAt } from './support/moved-clock.ts'
import { interrupted, runSuite, type Suite } from './support/suite.ts'

/** A name to choose it by, what it is, and the suite; null when this machine has not what it needs. */
type Step = readonly [name: string, what: string, suite: (() => Suite) | null]

const WORK = 'test/{audit,collect,db,flow,history,ledger,plan,post,queue,report,watch}/**/*.test.ts'
/**
 * What another version of the server may answer otherwise: statements and their plans, rules and the words of
 * refusals, migration, locks, a restore, and one whole cycle. `npm test` runs on any server that
 * `TEST_DATABASE_URL` names.
 */
const OF_SERVER = [
  'test/{alerts,history,ledger,mistakes,plan}/*.test.ts',
  'test/db/**/*.test.ts',
  'test/cli/{import,sql}.test.ts',
  'test/flow/{cycle,long-life}.test.ts',
  'test/post/copies.test.ts',
  'test/report/{read,report}.test.ts',
  'test/report/export/*.test.ts',
]
const WITH_CALENDAR = [
  WORK,
  'test/{account,alerts,archive,monitor}/*.test.ts',
  'test/{sandbox,service}/**/*.test.ts',
]

/** Each is passed while the tests run, or follows within the hour. */
const INSTANTS = {
  'leap-day': ['the last half hour of a leap day, which ends a month', '2028-02-29T23:30:00Z', 'UTC'],
  'new-year': [
    'the first half hour of a year, far east of UTC',
    '2027-01-01T00:00:10Z',
    'Pacific/Kiritimati',
  ],
  spring: ['the change to summer time', '2027-03-28T00:59:30Z', 'Europe/Berlin'],
  autumn: ['the change back from summer time', '2027-11-07T05:59:30Z', 'America/New_York'],
} as const

function listSteps(): Step[] {
  const programs = findInstalled('initdb')
  const server: Step =
    programs === undefined
      ? ['server', `the database on a second server: none in ${FOLDER_OF_DEBIAN}`, null]
      : [
          'server',
          `the database on the server of ${programs}`,
          () => ({ files: OF_SERVER, programs, processes: 3 }),
        ]
  const instants = Object.entries(INSTANTS).map(([name, [what, at, timeZone]]): Step => {
    const suite = () => ({ files: WITH_CALENDAR, clock: clockAt(new Date(at), timeZone) })
    return [name, `${what}: ${at}, ${timeZone}`, suite]
  })
  return [
    // The longest ones wait most of their time.
    ['proofs', 'kills, faults, guards and scale', () => ({ files: ['test/**/*.proof.ts'], processes: 6 })],
    server,
    ...instants,
  ]
}

const steps = listSteps()
const names = process.argv.slice(2)
const unknown = names.filter((name) => !steps.some(([known]) => known === name))
if (unknown.length > 0) {
  process.stderr.write(
    `There is no step ${unknown.join(', ')}: choose of ${steps.map(([name]) => name).join(', ')}.\n`,
  )
  process.exit(2)
}
const skipped: string[] = []
let passed = 0
let failed = 0

async function prove([name, what, suite]: Step): Promise<void> {
  process.stdout.write(`\n${suite === null ? 'skipped' : 'proof'} ${name}: ${what}\n`)
  if (suite === null) {
    skipped.push(name)
    return
  }
  const counts = await runSuite({ reporter: 'dot', ...suite() })
  passed += counts.passed
  failed += counts.failed
}

const chosen = steps.filter(([name]) => names.length === 0 || names.includes(name))
// Side by side: the proofs wait most of their time, and the server never does.
const isBeside = ([name]: Step) => name === 'proofs' || name === 'server'
const others = chosen.filter((step) => !isBeside(step))
for (const round of [chosen.filter(isBeside), ...others.map((step) => [step])]) {
  if (!interrupted.signal.aborted) await Promise.all(round.map(prove))
}
const isIncomplete = names.length > 0 && skipped.length > 0
if (skipped.length > 0) {
  const what = isIncomplete ? 'asked for, and could not be run here' : 'skipped'
  process.stdout.write(`\n${what}: ${skipped.join(', ')}\n`)
}
process.stdout.write(`\n${passed} passed, ${failed} failed\n`)
process.exitCode = failed === 0 && !isIncomplete ? 0 : 1
