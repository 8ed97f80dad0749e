/** Gives results: the ready list, and the result of one task. */

import { randomUUID } from 'node:crypto'
import type { Code } from './codes.ts'
import type { TaskAnswer } from './envelope.ts'
import { findOffer, type Offer } from './offers.ts'
import { echoTask, resolveTask } from './posting.ts'
import type { Answers } from './results.ts'
import type { Task, Tasks } from './tasks.ts'
import { formatTimestamp } from './timestamp.ts'

/** Lists what is ready to be fetched from one offer. */
export const listReady = (tasks: Tasks, offer: Offer, nowMs: number): TaskAnswer => ({
  id: randomUUID(),
  code: 20000,
  data: { api: 'app_data', function: 'tasks_ready', se: offer.store, se_type: offer.seType },
  result: tasks.listReady(offer.store, offer.function, nowMs).map((task) => ({
    id: task.id,
    se: task.store,
    se_type: offer.seType,
    date_posted: formatTimestamp(task.postedAtMs),
    tag: task.parameters.tag ?? null,
    endpoint_advanced: `/v3/app_data/${task.store}/${task.function}/task_get/advanced/${task.id}`,
    endpoint_html: null,
  })),
})

/** Why a task has no result here and now; undefined when it has one. */
const findObstacle = (tasks: Tasks, task: Task, offer: Offer, nowMs: number): Code | undefined => {
  if (task.store !== offer.store) return 40002
  if (task.function !== offer.function) return 40004
  const stage = tasks.stageOf(task, nowMs)
  if (stage === 'done') return undefined
  return { handed: 40601, queued: 40602, expired: 40403 }[stage] as Code
}

/** Gives the result of a task, and takes the task off the ready list. Asking is free. */
export const fetchTask = (
  tasks: Tasks,
  answers: Answers,
  offer: Offer,
  id: string,
  nowMs: number,
): TaskAnswer => {
  const task = tasks.find(id)
  if (!task) return { id, code: 40401, data: { ...echoTask(offer, {}), id }, result: null }
  const own = findOffer(task.store, task.function)
  const data = echoTask(own, task.parameters, resolveTask(own, task))
  const obstacle = findObstacle(tasks, task, offer, nowMs)
  if (obstacle) return { id, code: obstacle, data, result: null }
  tasks.markFetched(task)
  const result = answers.show(task)
  return result ? { id, code: 20000, data, result: [result] } : { id, code: 40102, data, result: null }
}
