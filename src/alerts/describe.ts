/** What an event says, in one line. */

import { nameInLine } from '../text/names.ts'
import { STORE_NAMES } from '../text/words.ts'
import type { EventRow } from './event.ts'
import { findKind } from './kinds/kinds.ts'

/** `yoga (iOS US, en): Ashlune fell from 3 to 22 (of 100), compared with 2026-03-03.` */
export function describeEvent(event: EventRow): string {
  const { app, compared_slot: comparedSlot, kind, rival } = event
  const told = {
    ...event,
    app: app === null ? 'The app' : nameInLine(app),
    rival: rival === null ? '' : nameInLine(rival),
    comparedWith: comparedSlot === null ? '' : `, compared with ${dayOf(event, comparedSlot)}`,
  }
  const text = findKind(kind)?.sentence(told) ?? kind
  const where = describePlace(event)
  const line = where === '' ? beginSentence(text, told) : `${where}: ${text}`
  return line.replace(/\s+/g, ' ').replace(/\.$/, `${describeLatest(event)}.`)
}

/** A name that it begins with stays as it is written. */
function beginSentence(text: string, { app, rival, kind }: EventRow): string {
  const isName = [app, rival, kind].some((name) => name && text.startsWith(name))
  return isName ? text : text.charAt(0).toUpperCase() + text.slice(1)
}

/** ` (today 52)`: where it stands by now, if that is not what the event says. */
function describeLatest({ latest, after }: EventRow): string {
  if (!latest || latest.rank === after) return ''
  return ` (today ${latest.rank ?? `> ${latest.depth}`})`
}

/** The list, or the app of a page, with the place; of a day only the store. */
function describePlace({ app, keyword, kind, store, ...of }: EventRow): string {
  const name = [store === null ? null : STORE_NAMES[store], of.place].filter(Boolean).join(' ')
  const place = [name, of.language].filter(Boolean).join(', ')
  const list = keyword ?? (of.collection && [of.collection, of.category].filter(Boolean).join(', '))
  if (list) return `${nameInLine(list)} (${place})`
  if (findKind(kind)?.isOfDay) return place
  return app === null || place === '' ? '' : `${nameInLine(app)} (${place})`
}

/**
 * The day of an instant: of slots in UTC, and where the event is of a day or of a budget of the project, in
 * its time zone.
 */
export function dayOf(
  { kind, detail, timezone }: Pick<EventRow, 'kind' | 'detail' | 'timezone'>,
  at: Date,
): string {
  const isOfProject = findKind(kind)?.isOfDay || String(detail.budget ?? '').endsWith(' of the project')
  return formatDayIn(at, isOfProject ? timezone : 'UTC')
}

/** Postgres knows names, such as `Factory` and `localtime`, that Node does not: then by UTC. */
function formatDayIn(at: Date, timeZone: string): string {
  try {
    return at.toLocaleDateString('sv-SE', { timeZone })
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    return at.toLocaleDateString('sv-SE', { timeZone: 'UTC' })
  }
}
