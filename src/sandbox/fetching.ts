/** Gives results: the ready list, and the result of one task. */

import type { Code } from './codes.ts'
import type { TaskAnswer } from './envelope.ts'
import { type Form, findOffer, type Offer, resultPath, type TaskFunction } from './offers.ts'
import { echoTask, resolveTask } from './posting.ts'
import type { Service } from './service.ts'
import { messageOf, outcomeOf, type Task, type Tasks } from './tasks.ts'
import { formatTimestamp } from './timestamp.ts'
import { breakList, canBreak, sayOther } from './untrue.ts'

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
  if (task.function === 'app_listings') return 40004
  if (task.function !== offer.function) {
    return LISTS.includes(task.function) && LISTS.includes(offer.function) ? 40003 : 40004
  }
  const stage = tasks.stageOf(task, form, nowMs)
  if (stage === 'done') return undefined
  return { handed: 40601, queued: 40602, expired: 40403 }[stage] as Code
}

/** What a task that is done has found, in a form. */
export const showResult = (service: Service, task: Task, form: Form): TaskAnswer => {
  const path = resultPath(findOffer(service.offers, task), task.id, form)
  const { otherAnswer, otherFailure } = service.faults.settings
  const mayBeOther = (otherAnswer || otherFailure) && [20000, 40102].includes(outcomeOf(task))
  const other = mayBeOther ? service.tasks.findOther(task) : undefined
  if (other && service.faults.strikes('otherFailure', path)) {
    return { ...showFound(service, { ...other, failure: 40101 }, form, path), id: task.id }
  }
  const shown = other && service.faults.strikes('otherAnswer', path) ? other : task
  const isWrong = service.faults.strikes('wrongId', path)
  const found = showFound(service, shown, form, path)
  const isBent = found.code === 20000 && service.faults.strikes('otherField', path)
  return {
    ...(isBent ? sayOther(found, service.faults.struck.otherField ?? 0) : found),
    id: isWrong ? service.makeId(task.doneAtMs, task.function) : task.id,
  }
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
    if (items.length > 0 && faults.strikes('shortList', path))
      return { ...result, items: items.slice(0, items.length >> 1) }
    if (!canBreak(items) || !faults.strikes('brokenList', path)) return result
    return breakList({ ...result, items }, faults.struck.brokenList ?? 0)
  }
  return {
    id: task.id,
    code,
    ...(code === 40501 && { message: messageOf(code, envelope.codes) }),
    isSilent: task.isSilent === true || envelope.codes.isSold,
    data: echoTask(offer, task.parameters, resolveTask(offer, task)),
    ...(code === 20000 && { result: [showOne()] }),
  }
}

/** Gives the result of a task, and takes the task off the ready list. Asking is free. */
export const fetchTask = (
  service: Service,
  offer: Offer,
  form: Form,
  id: string,
  nowMs: number,
): TaskAnswer => {
  const task = service.tasks.find(id)
  if (!task) {
    const code = service.tasks.isForeign(id) ? 40001 : 40401
    const data = { ...echoTask(offer, {}), id }
    return { id, code, isSilent: service.envelope.codes.isSold, data }
  }
  const own = task.function === 'app_listings' ? offer : findOffer(service.offers, task)
  const obstacle = findObstacle(service.tasks, task, offer, form, nowMs)
  if (obstacle) {
    const data = echoTask(own, task.parameters, resolveTask(own, task))
    return { id, code: obstacle, isSilent: service.envelope.codes.isSold, data }
  }
  service.tasks.markFetched(task)
  return showResult(service, task, form)
}
