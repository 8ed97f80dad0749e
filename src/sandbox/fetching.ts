/** Gives results: the ready list, and the result of one task. */

import type { Code, TaskAnswer } from './envelope.ts'
import { breakList, canBreak, sayOther } from './faults.ts'
import { type Form, findOffer, type Offer, resultPath } from './offers.ts'
import { echoTask } from './posting.ts'
import type { Service } from './service.ts'
import { messageOf, outcomeOf, stageOf, type Task } from './tasks.ts'
import { formatTimestamp } from './timestamp.ts'

/** As it is sold, a task enters the ready list so long after it is done. */
const READY_LAG_MS = 1000

const showRow = (offer: Offer, task: Task) => {
  const pathIn = (form: Form) => (offer.forms.includes(form) ? resultPath(offer, task.id, form) : null)
  return {
    id: task.id,
    se: offer.segment,
    se_type: offer.seType,
    date_posted: formatTimestamp(task.postedAtMs),
    tag: task.parameters.tag ?? null,
    endpoint_advanced: pathIn('advanced'),
    endpoint_html: pathIn('html'),
  }
}

/** Lists what is ready to be fetched from one offer, or from all of them; `path` is that of the call. */
export const listReady = (
  { offers, tasks, faults, deviations, makeId }: Service,
  one: Offer | undefined,
  path: string,
  nowMs: number,
): TaskAnswer => {
  const isLagging = deviations.has('lagging-ready')
  // While the clock stands still nothing would ever come out of the lag.
  const lagMs = isLagging && faults.clockMs === undefined ? READY_LAG_MS : 0
  const ready = tasks.listReady(one ? [one] : offers, nowMs, nowMs - lagMs)
  const rows = ready.flatMap((task) => {
    const row = showRow(one ?? findOffer(offers, task), task)
    return faults.strikes('duplicateRow', path) ? [row, row] : [row]
  })
  const seType = deviations.has('types') ? one?.function : one?.seType
  return {
    id: makeId(nowMs, 'tasks_ready'),
    code: 20000,
    data: { api: 'app_data', function: 'tasks_ready', ...(one && { se: one.segment, se_type: seType }) },
    ...((!isLagging || rows.length > 0) && { result: rows }),
  }
}

/** Functions that give ranked lists differ in their search type, every other pair in more than that. */
const LISTS: readonly string[] = ['app_searches', 'app_list']

/** Why a task has no result here and now; undefined when it has one. */
const findObstacle = (task: Task, offer: Offer, form: Form, nowMs: number): Code | undefined => {
  if (task.store !== offer.store) return 40002
  if (task.function !== offer.function) {
    return LISTS.includes(task.function) && LISTS.includes(offer.function) ? 40003 : 40004
  }
  return ({ handed: 40601, queued: 40602, expired: 40403, done: undefined } as const)[
    stageOf(task, form, nowMs)
  ]
}

/** What a task has found. `path` is that of the call. */
const showFound = (
  { answers, faults, offers, envelope }: Service,
  task: Task,
  form: Form,
  path: string,
): TaskAnswer => {
  const offer = findOffer(offers, task)
  const code = outcomeOf(task)
  const showOne = () => {
    const result = answers.show({ ...task, function: offer.function }, form)
    const { items } = result
    if (form === 'html' || offer.function === 'app_info' || !Array.isArray(items)) return result
    if (items.length > 0 && faults.strikes('shortList', path)) {
      return { ...result, items: items.slice(0, items.length >> 1) }
    }
    if (!canBreak(items) || !faults.strikes('brokenList', path)) return result
    return breakList({ ...result, items }, faults.struck.brokenList ?? 0)
  }
  return {
    id: task.id,
    code,
    ...(code === 40501 && { message: messageOf(code, envelope.codes) }),
    isSilent: task.isSilent === true || envelope.codes.isSold,
    data: echoTask(offer, task.parameters, task),
    ...(code === 20000 && { result: [showOne()] }),
  }
}

/** What a task that is done has found, in a form; faults may make it untrue. */
export const showResult = (service: Service, task: Task, form: Form): TaskAnswer => {
  const { faults, offers, tasks, makeId } = service
  const path = resultPath(findOffer(offers, task), task.id, form)
  const mayBeOther = faults.settings.otherAnswer ?? faults.settings.otherFailure
  const other = mayBeOther && [20000, 40102].includes(outcomeOf(task)) ? tasks.findOther(task) : undefined
  if (other && faults.strikes('otherFailure', path)) {
    return { ...showFound(service, { ...other, failure: 40101 }, form, path), id: task.id }
  }
  const shown = other && faults.strikes('otherAnswer', path) ? other : task
  const id = faults.strikes('wrongId', path) ? makeId(task.doneAtMs, task.function) : task.id
  const found = { ...showFound(service, shown, form, path), id }
  const isBent = found.code === 20000 && faults.strikes('otherField', path)
  return isBent ? sayOther(found, faults.struck.otherField ?? 0) : found
}

/** Gives the result of a task, and takes the task off the ready list. Asking is free. */
export const fetchTask = (
  service: Service,
  offer: Offer,
  form: Form,
  id: string,
  nowMs: number,
): TaskAnswer => {
  const { tasks, offers, envelope } = service
  const refuse = (code: Code, data: TaskAnswer['data']): TaskAnswer => {
    return { id, code, isSilent: envelope.codes.isSold, data }
  }
  const task = tasks.find(id)
  if (!task) return refuse(tasks.isForeign(id) ? 40001 : 40401, { ...echoTask(offer, {}), id })
  const obstacle = findObstacle(task, offer, form, nowMs)
  if (obstacle) {
    const own = task.function === 'app_listings' ? offer : findOffer(offers, task)
    return refuse(obstacle, echoTask(own, task.parameters, task))
  }
  tasks.markFetched(task)
  return showResult(service, task, form)
}
