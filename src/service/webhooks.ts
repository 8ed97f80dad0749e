/** Webhooks: sent again where they did not arrive. */

import { ConfigurationError, RejectedError } from '../errors.ts'
import type { TaskReply } from './envelope.ts'
import { isObject, readIdentifier } from './fields.ts'
import { classifyStatus } from './status-codes.ts'
import type { Transport } from './transport.ts'

/** spec: Limits */
export const MAX_IDS_PER_RESEND = 100
const MAX_ID_LENGTH = 64

/** What became of one id of a resend. */
export type ResendAnswer = ReturnType<typeof toAnswer>

/**
 * Has the pingbacks and postbacks of 1 to 100 tasks sent again, at no charge. An answer that was lost is
 * asked for again, so that a webhook may come twice.
 * @returns one answer for each id, in the order asked
 * @throws ConfigurationError for another number of ids, or one that is no text of 1 to 64 characters;
 *   RejectedError when the service refuses the whole call; what `callFree` throws
 */
export async function resendWebhooks(
  transport: Transport,
  taskIds: readonly string[],
): Promise<ResendAnswer[]> {
  const path = '/v3/appendix/webhook_resend'
  if (taskIds.length < 1 || taskIds.length > MAX_IDS_PER_RESEND) {
    throw new ConfigurationError(
      `POST ${path} was not sent: it takes 1 to ${MAX_IDS_PER_RESEND} ids, not ${taskIds.length}.`,
    )
  }
  const stranger = taskIds.find((id) => readIdentifier(id, MAX_ID_LENGTH) === null)
  if (stranger !== undefined) {
    throw new ConfigurationError(
      `POST ${path} was not sent: id must be text of 1 to ${MAX_ID_LENGTH} characters; it is ` +
        `${JSON.stringify(stranger)}.`,
    )
  }
  const body = taskIds.map((id) => ({ id }))
  const reply = await transport.callFree({ kind: 'webhook_resend', method: 'POST', path, body })
  if (reply.tasks.length === 0) {
    throw new RejectedError(
      `POST ${path} was refused: ${reply.message} (${reply.statusCode}).`,
      reply.statusCode,
    )
  }
  return taskIds.map((id, index) => toAnswer(id, findAnswer(reply.tasks, id, index, taskIds.length)))
}

/** By the id that it names; an answer that names none of its own is that of its place. */
function findAnswer(
  tasks: readonly TaskReply[],
  id: string,
  index: number,
  count: number,
): TaskReply | undefined {
  const named = tasks.find((task) => task.id === id || namedId(task) === id)
  return named ?? (tasks.length === count ? tasks[index] : undefined)
}

function namedId(task: TaskReply): string | null {
  return isObject(task.data) ? readIdentifier(task.data.id, MAX_ID_LENGTH) : null
}

function toAnswer(id: string, task: TaskReply | undefined) {
  const statusClass = classifyStatus(task?.statusCode ?? 0)
  return {
    /** Of the task. */
    id,
    /** Whether its pingback or postback goes out again. */
    isResent: statusClass === 'created' || statusClass === 'ok',
    /** 20100 when it is; 40503 for a task without a webhook; null when the service said nothing of it. */
    statusCode: task?.statusCode ?? null,
    /** In the words of the service. */
    message: task?.message ?? 'The service did not say.',
  }
}
