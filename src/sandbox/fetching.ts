/** Gives results: the ready list, and the result of one task. */

import { randomUUID } from 'node:crypto'
import type { Code } from './codes.ts'
import type { TaskAnswer } from './envelope.ts'
import type { Faults } from './faults.ts'
import { type Form, findOffer, type Offer, resultPath, type TaskFunction } from './offers.ts'
import { echoTask, resolveTask } from './posting.ts'
import type { Answers } from './results.ts'
import { outcomeOf, type Task, type Tasks } from './tasks.ts'
import { formatTimestamp } from './timestamp.ts'

/** Where results come from. */
export type ResultSource = { tasks: Tasks; answers: Answers; faults: Faults }

const showRow = (offer: Offer, task: Task) => {
  const pathIn = (form: Form) => (offer.forms.includes(form) ? resultPath(task, form) : null)
  return {
    id: task.id,
    se: task.store,
    se_type: offer.seType,
    date_posted: formatTimestamp(task.postedAtMs),
    tag: task.parameters.tag ?? null,
    endpoint_advanced: pathIn('advanced'),
    endpoint_html: pathIn('html'),
  }
}

/** Lists what is ready to be fetched from one offer; `path` is that of the call. */
export const listReady = (
  { tasks, faults }: ResultSource,
  offer: Offer,
  path: string,
  nowMs: number,
): TaskAnswer => ({
  id: randomUUID(),
  code: 20000,
  data: { api: 'app_data', function: 'tasks_ready', se: offer.store, se_type: offer.seType },
  result: tasks.listReady(offer.store, offer.function, nowMs).flatMap((task) => {
    const row = showRow(offer, task)
    return faults.strikes('duplicateRow', path) ? [row, row] : [row]
  }),
})

/** Functions that give ranked lists: they differ in their search type, every other pair in more than that. */
const LISTS: readonly TaskFunction[] = ['app_searches', 'app_list']

/** Why a task has no result here and now; undefined when it has one. */
const findObstacle = (
  tasks: Tasks,
  task: Task,
  offer: Offer,
  form: Form,
  nowMs: number,
): Code | undefined => {
  if (task.store !== offer.store) return 40002
  if (task.function !== offer.function) {
    return LISTS.includes(task.function) && LISTS.includes(offer.function) ? 40003 : 40004
  }
  const stage = tasks.stageOf(task, form, nowMs)
  if (stage === 'done') return undefined
  return { handed: 40601, queued: 40602, expired: 40403 }[stage] as Code
}

/** What a task that is done has found, in a form. */
export const showResult = ({ answers, faults }: ResultSource, task: Task, form: Form): TaskAnswer => {
  const offer = findOffer(task.store, task.function)
  const code = outcomeOf(task)
  return {
    id: faults.strikes('wrongId', resultPath(task, form)) ? randomUUID() : task.id,
    code,
    data: echoTask(offer, task.parameters, resolveTask(offer, task)),
    result: code === 20000 ? [answers.show(task, form)] : null,
  }
}

/** Gives the result of a task, and takes the task off the ready list. Asking is free. */
export const fetchTask = (
  source: ResultSource,
  offer: Offer,
  form: Form,
  id: string,
  nowMs: number,
): TaskAnswer => {
  const task = source.tasks.find(id)
  if (!task) {
    const code = source.tasks.isForeign(id) ? 40001 : 40401
    return { id, code, data: { ...echoTask(offer, {}), id }, result: null }
  }
  const own = findOffer(task.store, task.function)
  const obstacle = findObstacle(source.tasks, task, offer, form, nowMs)
  if (obstacle) {
    return { id, code: obstacle, data: echoTask(own, task.parameters, resolveTask(own, task)), result: null }
  }
  source.tasks.markFetched(task)
  return showResult(source, task, form)
}
