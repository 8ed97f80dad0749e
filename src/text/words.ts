/** Counts and percentages as a person reads them: on paper, on the terminal, in messages. */
import type { Store } from '../service/functions.ts'

export const STORE_NAMES: Readonly<Record<Store, string>> = { ios_store: 'iOS', android_store: 'Android' }

/** `1,234,567` */
export function formatCount(count: number | bigint): string {
  return count.toLocaleString('en-US')
}

/** `1 keyword`, `2 keywords` */
export function countOf(count: number, one: string, several = `${one}s`): string {
  return `${formatCount(count)} ${count === 1 ? one : several}`
}

/** `10`, `0.5` */
export function formatWeight(weight: number): string {
  return weight.toLocaleString('en-US', { maximumFractionDigits: 2 })
}

/** `23.4 %`; `–` where nothing was measured. */
export function formatPercent(percent: number | null | undefined): string {
  if (percent === null || percent === undefined) return '–'
  return `${percent.toLocaleString('en-US', { minimumFractionDigits: 1, maximumFractionDigits: 1 })} %`
}

/** As it is shown, so that parts add up to what stands beside them. */
export function roundToTenths(value: number): number {
  return Math.round(value * 10) / 10
}

/** `+1.2`, `−0.3`, `±0.0` */
export function formatDifference(difference: number): string {
  const size = Math.abs(roundToTenths(difference)).toFixed(1)
  return size === '0.0' ? '±0.0' : `${difference < 0 ? '−' : '+'}${size}`
}

/** With a full stop, where it has no end of its own. */
export function endSentence(text: string): string {
  return text === '' || /[.!?…]$/.test(text) ? text : `${text}.`
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
