/** The limits of the service that no option changes (spec: Limits; docs/service.md: Open points). */

/** Tasks in one POST; those beyond it are refused with 40006. */
export const MAX_TASKS_PER_POST = 100
export const MAX_KEYWORD_CHARACTERS = 700
export const MAX_TAG_CHARACTERS = 255
/** Ids in one webhook resend; those beyond it are refused with 40006. */
export const MAX_IDS_PER_RESEND = 100
/** Rows of one ready list, one id list and one list of failed tasks. */
export const MAX_ROWS = 1000
/** The ready list tells of tasks of this many days. */
export const READY_LIST_DAYS = 3
/** Results stay for this many days after completion, by form. */
export const RETENTION_DAYS = { advanced: 30, html: 7 } as const
/** Bytes of a request body: 100 tasks with every field at its limit fit. */
export const MAX_BODY_BYTES = 4_000_000
