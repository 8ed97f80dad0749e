/**
 * The tag of a task at the service, by which every answer is matched: `<task id, uuid
 * v7>.<attempt>.<installation>.<slot>.<length of the slot>`, both in seconds. Two databases share none. By
 * what follows the attempt a restored database knows its own tasks in the list (recover.ts).
 */

export interface TaskTag {
  readonly taskId: string
  readonly attempt: number
}

/** Which database posted a task, and for which slot. */
export interface TagOrigin {
  /** `ledger.installation` of the database. */
  readonly installation: string
  readonly slot: Date
  readonly slotEndsAt: Date
}

export interface ParsedTag extends TaskTag {
  /** Null when the tag ends with the attempt, as those of storerank 0.2 did. */
  readonly origin: TagOrigin | null
}

const TAG = new RegExp(
  '^([0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12})\\.([1-9][0-9]{0,4})' +
    '(?:\\.([0-9a-f]{12})\\.([0-9]{1,10})\\.([1-9][0-9]{0,6}))?$',
)

export function formatTag({ taskId, attempt, installation, slot, slotEndsAt }: TaskTag & TagOrigin): string {
  const lengthMs = slotEndsAt.getTime() - slot.getTime()
  return [taskId, attempt, installation, toSeconds(slot.getTime()), toSeconds(lengthMs)].join('.')
}

/** Null when the tag has another form: then another program of the account has set it. */
export function parseTag(tag: string | null): ParsedTag | null {
  const [, taskId, attempt, installation, slot, length] = TAG.exec(tag ?? '') ?? []
  if (taskId === undefined) return null
  const task = { taskId, attempt: Number(attempt) }
  if (installation === undefined) return { ...task, origin: null }
  const slotMs = Number(slot) * 1000
  const slotEndsAt = new Date(slotMs + Number(length) * 1000)
  return { ...task, origin: { installation, slot: new Date(slotMs), slotEndsAt } }
}

function toSeconds(ms: number): number {
  return Math.round(ms / 1000)
}
