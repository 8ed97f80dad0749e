/**
 * The tag that a task carries at the service, and by which every answer is matched: `<task id, uuid v7>.<attempt>`. Task
 * ids are random enough that two databases on one account never share a tag.
 */

export interface TaskTag {
  readonly taskId: string
  readonly attempt: number
}

const TAG = /^([0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12})\.([1-9][0-9]{0,4})$/

export function formatTag(tag: TaskTag): string {
  return `${tag.taskId}.${tag.attempt}`
}

/** Null when the tag has another form: then another program of the account has set it. */
export function parseTag(tag: string | null): TaskTag | null {
  const match = TAG.exec(tag ?? '')
  return match?.[1] === undefined ? null : { taskId: match[1], attempt: Number(match[2]) }
}
