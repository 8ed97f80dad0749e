/** What `storerank check` does: asks what costs nothing, and buys one keyword of each store on request. */
import { type CheckedService, checkService } from '../check/check.ts'
import type { Finding, Verdict } from '../check/finding.ts'
import { addTrialWatches, endTrial, priceTrial, readTrial, type Trial, watchesMore } from '../check/trial.ts'
import { createCallGate } from '../db/call-gate.ts'
import { ConfigurationError } from '../errors.ts'
import { readRestoreState } from '../ledger/restored.ts'
import { AppDataClient } from '../service/client.ts'
import { readStoreNames } from '../service/dialect.ts'
import { formatUsd } from '../text/money.ts'
import { countOf } from '../text/words.ts'
import type { CommandContext } from './command.ts'
import { confirm } from './confirm.ts'
import type { DatabaseSession } from './database-session.ts'
import { type Document, heading, type Part } from './document.ts'
import { EXIT } from './exit-codes.ts'
import { withDatabase } from './needs.ts'
import { createProgress } from './progress.ts'
import { claimAccount, openService } from './service-access.ts'
import { tell, warn } from './tell.ts'

interface CheckOptions {
  readonly buy: boolean
  readonly yes: boolean
}

const VERDICTS: Readonly<Record<Verdict, string>> = {
  holds: 'holds',
  differs: 'differs',
  unknown: 'cannot be told without buying',
}

export async function check(options: CheckOptions, context: CommandContext): Promise<Document> {
  const findings = await findOut(context)
  const hindered = findings.some(({ isObstacle }) => isObstacle)
  const parts = describe(findings)
  if (!options.buy || hindered) {
    return { parts, data: { findings }, exitCode: hindered ? EXIT.failed : 0 }
  }
  const trials = await buy(options, context)
  if (trials === null) return { parts: [...parts, 'Nothing was bought.'], data: { findings } }
  const known = await findOut(context)
  return {
    parts: [...describe(known), heading('What was bought'), ...trials.map((trial) => describeTrial(trial))],
    data: { findings: known, bought: trials },
    exitCode: trials.every(({ isMeasured }) => isMeasured) ? 0 : EXIT.failed,
  }
}

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
  const work = async (session: DatabaseSession) => {
    const { db } = session
    const { config, signal } = context
    const { sandboxAccount } = await claimAccount(session, config)
    const {
      url: baseUrl,
      dispose,
      ...access
    } = await openService(config, sandboxAccount, () => tell(context, 'Starting the sandbox.'))
    const gate = createCallGate(db, { ...config, runner: 'check' }, signal)
    const client = new AppDataClient({ ...access, baseUrl, gate })
    const progress = createProgress(context)
    const openNamed: CheckedService['openNamed'] = (names) => {
      const stores = readStoreNames(names)
      return new AppDataClient({ ...access, baseUrl, gate, ...(stores === null ? {} : { stores }) })
    }
    const { installation } = await readRestoreState(db.sql)
    const postbackUrl = config.postbackUrl?.reveal() ?? null
    try {
      return await checkService(
        { client, openNamed, installation, postbackUrl, proxy: config.proxy, signal },
        (what) => progress.phase(`asking for ${what}`),
      )
    } finally {
      progress.stop()
      await client.close()
      await dispose()
    }
  }
  return withDatabase(context, work, { makes: 'embedded' })
}

/**
 * Null when the person does not want it.
 * @throws ConfigurationError where other things would be bought with it, or nobody can be asked
 */
async function buy({ yes }: CheckOptions, context: CommandContext): Promise<readonly Trial[] | null> {
  const price = await withDatabase(context, async ({ db }) => {
    if (!(await watchesMore(db))) return priceTrial(db)
    throw new ConfigurationError(
      'Nothing was bought: this database watches more, which would be bought with it. ' +
        '`storerank run` buys all of it.',
    )
  })
  const most = `costs ${formatUsd(price)} at most`
  const unasked = `Nothing was bought: it ${most}. Say --yes to buy it without a terminal.`
  if (!yes && !(await confirm(`One keyword of each store ${most}. Buy?`, unasked, context))) return null
  await withDatabase(context, ({ db }) => addTrialWatches(db))
  try {
    const { run } = await import('./run.ts')
    const { warnings = [] } = await run({ jobs: [] }, context)
    for (const warning of warnings) warn(context, warning)
    return await withDatabase(context, ({ db }) => readTrial(db))
  } finally {
    await withDatabase(context, ({ db }) => endTrial(db))
  }
}

function describeTrial({
  store,
  isMeasured,
  problem,
  seconds,
  chargedMicros,
  refundedMicros,
  results,
}: Trial): string {
  if (!isMeasured) return `${store}: not measured. ${problem ?? 'It is still outstanding.'}`
  const refund =
    refundedMicros === 0 ? 'nothing was given back' : `${formatUsd(-refundedMicros)} were given back`
  return (
    `${store}: measured in ${seconds ?? 0} s, with ${countOf(results ?? 0, 'result')}; ` +
    `charged ${formatUsd(chargedMicros)}, and ${refund}.`
  )
}
