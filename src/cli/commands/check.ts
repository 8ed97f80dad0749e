/** What storerank relies on, held against the service; one keyword of each store is bought on request. */
import { type CheckedService, checkService } from '../../check/check.ts'
import type { Finding, Verdict } from '../../check/finding.ts'
import {
  addTrialWatches,
  endTrial,
  priceTrial,
  readTrial,
  type Trial,
  watchesMore,
} from '../../check/trial.ts'
import { createCallGate } from '../../db/call-gate.ts'
import { ConfigurationError } from '../../errors.ts'
import { readRestoreState } from '../../ledger/restored.ts'
import { AppDataClient } from '../../service/client.ts'
import { readStoreNames } from '../../service/dialect.ts'
import { formatUsd } from '../../text/money.ts'
import { countOf } from '../../text/words.ts'
import { type CommandContext, command, flag } from '../command.ts'
import { withDatabase } from '../database-session.ts'
import { heading, type Part } from '../document.ts'
import { EXIT } from '../failure.ts'
import { createProgress } from '../progress.ts'
import { confirm, tell } from '../tell.ts'
import { claimAccount, openService } from '../work-session.ts'
import { buyDue } from './run.ts'

const VERDICTS: Readonly<Record<Verdict, string>> = {
  holds: 'holds',
  differs: 'differs',
  unknown: 'cannot be told without buying',
}

export const check = command({
  group: 'The service',
  summary: 'hold what storerank relies on against the service, free of charge; buys only with --buy',
  options: {
    buy: flag('buy one keyword of each store at the least depth, and follow it into the history'),
    yes: flag('buy without asking'),
    json: flag('print JSON for a report of an error, without login, apps and keywords'),
  },
  examples: ['storerank check'],
  run: async ({ buy, yes }, context) => {
    const findings = await findOut(context)
    const hindered = findings.some(({ isObstacle }) => isObstacle)
    const parts = describe(findings)
    if (!buy || hindered) return { parts, data: { findings }, exitCode: hindered ? EXIT.failed : 0 }
    const trials = await buyTrial(yes, context)
    if (trials === null) return { parts: [...parts, 'Nothing was bought.'], data: { findings } }
    const known = await findOut(context)
    return {
      parts: [...describe(known), heading('What was bought'), trials.map(describeTrial)],
      data: { findings: known, bought: trials },
      exitCode: trials.every(({ isMeasured }) => isMeasured) ? 0 : EXIT.failed,
    }
  },
})

function describe(findings: readonly Finding[]): Part[] {
  const lines = findings.map(({ about, verdict, says }) => `${about}: ${VERDICTS[verdict]}. ${says}`)
  const obstacles = findings.filter(({ isObstacle }) => isObstacle).length
  const end =
    obstacles === 0
      ? 'Nothing has to be mended.'
      : `${countOf(obstacles, 'thing')} must be mended before anything can be bought.`
  return [...lines, end]
}

/** Asks the service, with the calls counted in the database like those of a runner. */
function findOut(context: CommandContext): Promise<Finding[]> {
  return withDatabase(
    context,
    async (session) => {
      const { db } = session
      const { config, signal } = context
      const { sandboxAccount } = await claimAccount(session, config)
      const { dispose, ...access } = await openService(config, sandboxAccount, () =>
        tell(context, 'Starting the sandbox.'),
      )
      const gate = createCallGate(db, { ...config, runner: 'check' }, signal)
      const client = new AppDataClient({ ...access, gate })
      const openNamed: CheckedService['openNamed'] = (names) => {
        const stores = readStoreNames(names)
        return new AppDataClient({ ...access, gate, ...(stores === null ? {} : { stores }) })
      }
      const { installation } = await readRestoreState(db.sql)
      const { proxy } = config
      const postbackUrl = config.postbackUrl?.reveal() ?? null
      const progress = createProgress(context)
      try {
        return await checkService({ client, openNamed, installation, postbackUrl, proxy, signal }, (what) =>
          progress.phase(`asking for ${what}`),
        )
      } finally {
        progress.stop()
        await client.close()
        await dispose()
      }
    },
    { makes: 'embedded' },
  )
}

/**
 * Null when the person does not want it.
 * @throws ConfigurationError where other things would be bought with it, or nobody can be asked
 */
async function buyTrial(isWanted: boolean, context: CommandContext): Promise<readonly Trial[] | null> {
  const price = await withDatabase(context, async ({ db }) => {
    if (!(await watchesMore(db))) return priceTrial(db)
    throw new ConfigurationError(
      'Nothing was bought: this database watches more, which would be bought with it. ' +
        '`storerank run` buys all of it.',
    )
  })
  const most = `costs ${formatUsd(price)} at most`
  const unasked = `Nothing was bought: it ${most}. Say --yes to buy it without a terminal.`
  if (!isWanted && !(await confirm(`One keyword of each store ${most}. Buy?`, unasked, context))) return null
  await withDatabase(context, ({ db }) => addTrialWatches(db))
  try {
    await buyDue({}, context)
    return await withDatabase(context, ({ db }) => readTrial(db))
  } finally {
    await withDatabase(context, ({ db }) => endTrial(db))
  }
}

function describeTrial({ store, isMeasured, problem, refundedMicros, ...trial }: Trial): string {
  if (!isMeasured) return `${store}: not measured. ${problem ?? 'It is still outstanding.'}`
  const refund =
    refundedMicros === 0 ? 'nothing was given back' : `${formatUsd(-refundedMicros)} were given back`
  return (
    `${store}: measured in ${trial.seconds ?? 0} s, with ${countOf(trial.results ?? 0, 'result')}; ` +
    `charged ${formatUsd(trial.chargedMicros)}, and ${refund}.`
  )
}
