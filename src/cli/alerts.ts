/** What `storerank alerts` shows: the rules and their last events, or what they would have told. */

import { type RuleRow, readRules } from '../alerts/content.ts'
import { findKind } from '../alerts/kinds/kinds.ts'
import { type TrialDay, tryRules } from '../alerts/trial.ts'
import type { Database } from '../db/database.ts'
import { ConfigurationError } from '../errors.ts'
import { findProject } from '../report/read.ts'
import { countOf } from '../text/words.ts'
import { type Document, heading, type Part, table } from './document.ts'

const NO_RULE =
  'There is no rule yet: insert into alert_rule (project, name, kind, …); docs/alerts.md has the kinds.'
/** Of a day of a trial; JSON has all. */
const LINES_SHOWN = 20
const DAYS_TRIED = 30
/** What became of the last event, where the word of alert_history does not say it by itself. */
const STATES: Readonly<Record<string, string>> = {
  waiting: 'waits for its message',
  pending: 'on its way',
  dead: 'given up',
  cooldown: 'within the cooldown',
  channel: 'kept: no channel',
  beginning: 'kept: its beginning was not told',
}

export interface AlertsQuestion {
  readonly trial: boolean
  /** Of the trial. */
  readonly days?: number
  readonly project?: string
}

export async function showAlerts(
  db: Database,
  { trial, days, project }: AlertsQuestion,
  signal: AbortSignal,
): Promise<Document> {
  if (days !== undefined && !trial)
    throw new ConfigurationError('--days is of the trial: storerank alerts --trial --days 30.')
  if (project !== undefined)
    findProject(project, await db.sql<{ name: string }[]>`select name from project order by name`)
  const all = await readRules(db)
  const rules = project === undefined ? all : all.filter((rule) => rule.project === project)
  const found = trial ? await tryRules(db, days ?? DAYS_TRIED, signal, project) : null
  if (rules.length === 0) return { data: found ?? rules, parts: [NO_RULE] }
  if (found === null) return { data: rules, parts: describeRules(rules) }
  return { data: found, parts: describeTrial(found, rules, days ?? DAYS_TRIED) }
}

function describeRules(rules: readonly RuleRow[]): Part[] {
  return [...Map.groupBy(rules, (rule) => rule.project)].flatMap(([project, ofProject]) => {
    const rows = ofProject.map((rule) => ({
      rule: rule.rule,
      kind: `${rule.kind}, ${rule.severity}`,
      channel: rule.channel ?? '–',
      events: rule.events,
      last: rule.day ?? '–',
      state: rule.enabled ? (STATES[rule.state ?? ''] ?? rule.state ?? '') : 'disabled',
    }))
    return [heading(project), table(rows)]
  })
}

function describeTrial(found: readonly TrialDay[], rules: readonly RuleRow[], days: number): Part[] {
  const told = found.flatMap(({ project, lines }) => lines.map(({ rule }) => JSON.stringify([project, rule])))
  const counts = Map.groupBy(told, (rule) => rule)
  const rows = rules
    .filter(({ enabled }) => enabled)
    .map(({ project, rule, kind }) => ({
      project,
      rule,
      kind,
      events:
        findKind(kind)?.source.by === 'clock'
          ? 'not tried'
          : (counts.get(JSON.stringify([project, rule]))?.length ?? 0),
    }))
  return [
    found.map(describeDay),
    '',
    table(rows, { columns: ['project', 'rule', 'kind', 'events'] }),
    `${countOf(told.length, 'event')} in the last ${countOf(days, 'day')}. Nothing was sent. ` +
      'Rules on money, jobs and the service are not tried.',
  ]
}

function describeDay({ project, day, lines, held }: TrialDay): Part {
  return [
    heading(`${project}, ${day}`),
    lines.slice(0, LINES_SHOWN).map(({ severity, text, rule }) => `  ${severity}: ${text} (${rule})`),
    lines.length > LINES_SHOWN && `  … and ${lines.length - LINES_SHOWN} more`,
    held > 0 && `  … and ${held} held back by cooldowns`,
  ]
}
