/** Webhooks: sent again where they did not arrive. */
import { ConfigurationError, RejectedError } from '../errors.ts'
import { objectOf, readIdentifier } from './fields.ts'
import { classifyStatus } from './status-codes.ts'
import type { Transport } from './transport.ts'

/** spec: Limits */
export const MAX_IDS_PER_RESEND = 100
const MAX_ID_LENGTH = 64

/** What became of one id of a resend. */
export interface ResendAnswer {
  /** Of the task. */
  readonly id: string
  /** Whether its pingback or postback goes out again. */
  readonly isResent: boolean
  /** 20100 when it is; 40503 for a task without a webhook; null when the service said nothing of it. */
  readonly statusCode: number | null
  /** In the words of the service. */
  readonly message: string
}

/**
 * Has the webhooks of 1 to 100 tasks sent again, at no charge; one may come twice.
 * @returns one answer for each id, in the order asked
 * @throws ConfigurationError for another number of ids, or one that is no text of 1 to 64 characters;
 *   RejectedError when the service refuses the whole call; what `callFree` throws
 */
export async function resendWebhooks(
  transport: Transport,
  taskIds: readonly string[],
): Promise<ResendAnswer[]> {
  const path = '/v3/appendix/webhook_resend'
  const unsent = (rule: string) => new ConfigurationError(`POST ${path} was not sent: ${rule}.`)
  if (taskIds.length < 1 || taskIds.length > MAX_IDS_PER_RESEND)
    throw unsent(`it takes 1 to ${MAX_IDS_PER_RESEND} ids, not ${taskIds.length}`)
  const stranger = taskIds.find((id) => readIdentifier(id, MAX_ID_LENGTH) === null)
  if (stranger !== undefined)
    throw unsent(`id must be text of 1 to ${MAX_ID_LENGTH} characters; it is ${JSON.stringify(stranger)}`)
  const body = taskIds.map((id) => ({ id }))
  const call = { kind: 'webhook_resend', method: 'POST', path, body } as const
  const { tasks, statusCode, message } = await transport.callFree(call)
  if (tasks.length === 0)
    throw new RejectedError(`POST ${path} was refused: ${message} (${statusCode}).`, statusCode)
  return taskIds.map((id, index) => {
    // By the id that it names; an answer that names none of its own is that of its place.
    const named = tasks.find((task) => task.id === id || objectOf(task.data).id === id)
    const task = named ?? (tasks.length === taskIds.length ? tasks[index] : undefined)
    if (task === undefined)
      return { id, isResent: false, statusCode: null, message: 'The service did not say.' }
    const isResent = ['created', 'ok'].includes(classifyStatus(task.statusCode))
    return { id, isResent, statusCode: task.statusCode, message: task.message }
  })
}
