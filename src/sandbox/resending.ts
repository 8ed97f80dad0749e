/** Sends the webhooks of tasks again, at no charge (spec: Webhook resend). */

import { z } from 'zod'
import type { Code } from './codes.ts'
import { invalidField, type TaskAnswer } from './envelope.ts'
import { MAX_IDS_PER_RESEND } from './limits.ts'
import { isRecord } from './posting.ts'
import type { Service } from './service.ts'
import { hooksOf, type Task, type Tasks } from './tasks.ts'
import { postbackFormOf, type Webhooks } from './webhooks.ts'

const Request = z.object({ id: z.uuid() })
/** An id as it is sold is no UUID; which form it has is the service's own affair. */
const SoldRequest = z.object({ id: z.string().min(1).max(100) })

/** Why the webhooks of an id cannot be sent again; undefined when they can. */
const findObstacle = (tasks: Tasks, id: string, task: Task | undefined, nowMs: number): Code | undefined => {
  if (tasks.isForeign(id)) return 40001
  if (!task) return 40401
  if (hooksOf(task).length === 0) return 40503
  return tasks.stageOf(task, postbackFormOf(task), nowMs) === 'expired' ? 40403 : undefined
}

/** Answers each id by itself. The webhooks of a task that is not done yet go out when it is. */
export const resendWebhooks = (
  { tasks, deviations, makeId }: Service,
  webhooks: Webhooks,
  posted: readonly unknown[],
  nowMs: number,
): TaskAnswer[] => {
  const request = deviations.has('ids') ? SoldRequest : Request
  const newId = () => makeId(nowMs, 'webhook_resend')
  return posted.map((given, index) => {
    const data = { api: 'appendix', function: 'webhook_resend', ...(isRecord(given) && given) }
    if (index >= MAX_IDS_PER_RESEND) return { id: newId(), code: 40006, data }
    const parsed = request.safeParse(given)
    if (!parsed.success) return { id: newId(), ...invalidField('id'), data }
    const { id } = parsed.data
    const task = tasks.find(id)
    const obstacle = findObstacle(tasks, id, task, nowMs)
    if (!task || obstacle) return { id, code: obstacle ?? 40401, data }
    if (nowMs >= task.doneAtMs) {
      tasks.resend(task)
      webhooks.send([task])
    }
    return { id, code: 20100, data }
  })
}
