/** Why a measurement that was due is not there. */

/** In the words of the history. */
export const GAPS = ['budget', 'failed', 'missed', 'html_only', 'pending'] as const
export type Gap = (typeof GAPS)[number]

export type ByGap<Value> = Readonly<Record<Gap, Value>>

export function byGap<Value>(of: (gap: Gap) => Value): ByGap<Value> {
  return Object.fromEntries(GAPS.map((gap) => [gap, of(gap)])) as Record<Gap, Value>
}

export const GAP_NAMES: ByGap<string> = {
  budget: 'budget',
  failed: 'failed',
  missed: 'missed',
  html_only: 'page only',
  pending: 'pending',
}

export const GAP_MEANINGS: ByGap<string> = {
  budget: 'The budget was used up first.',
  failed: 'The service or the store gave no result.',
  missed: 'Nothing asked for it in time.',
  html_only: 'Measured, but given as a page without ranks.',
  pending: 'Not closed yet: the result may still come.',
}

/** Why the plan or the claim has left something out (`due_slot.cut`). */
const BUDGET_REASONS: Readonly<Record<string, string>> = {
  project_budget: 'The budget of the project was used up.',
  overall_budget: 'The budget over all projects was used up, or the limit of the account reached.',
  dearer_than_project_budget: 'It costs more than the whole budget of the project.',
  dearer_than_overall_budget: 'It costs more than the whole budget over all projects.',
}

/** The reason of a gap as a sentence. */
export function explainReason(reason: string | null): string | null {
  return reason === null ? null : (BUDGET_REASONS[reason] ?? reason)
}
