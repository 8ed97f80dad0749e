/** What has not ended, in sentences: for the end of a run and for `status`. */
import { describeOutage } from '../account/service-status.ts'
import { formatInstant } from '../instant.ts'
import type { Outstanding } from '../queue/cycle.ts'
import { formatCount } from '../text/words.ts'

/** What a run that ended still waits for; null when nothing is outstanding. */
export function describeWaiting(outstanding: Outstanding): string | null {
  const { planned, posting, posted, unknownPosts, waitsUntil, waiting, nextAttemptAt } = outstanding
  const released =
    waitsUntil === null ? 'after the next scans' : `at ${formatInstant(waitsUntil)} at the earliest`
  const unknown =
    `${formatCount(posting)} tasks of ${formatCount(unknownPosts)} posts are unknown, as the answer was ` +
    `lost: they are looked for at the service, and released ${released}, unless found`
  const unrecorded =
    `${formatCount(posting)} tasks were sent, and their answer is not recorded yet: ` +
    'the next run records it, or looks for them at the service'
  const parts = [
    planned > 0 ? `${formatCount(planned)} tasks are planned and not posted` : null,
    waiting > 0 ? `${describeAttempts(waiting, nextAttemptAt)}; a run after that posts them` : null,
    posted > 0
      ? `${formatCount(posted)} tasks are paid for and not yet collected; the next run collects them`
      : null,
    // A post whose ids are doubted has none.
    posting === 0 ? null : unknownPosts > 0 ? unknown : unrecorded,
  ].filter((part) => part !== null)
  return parts.length === 0 ? null : `${parts.join('; ')}.`
}

/** Why what is planned is not posted; null where nothing is held back. */
export function describeHeld({ planned, outage, restoreHold }: Outstanding): string | null {
  if (restoreHold !== null) return restoreHold
  if (outage === null || planned === 0) return null
  return (
    `${describeOutage(outage)} ${formatCount(planned)} tasks stay planned; the next run posts ` +
    'them, when that is over and their slot lasts.'
  )
}

/** Of tasks that wait for another attempt, without a full stop. */
export function describeAttempts(waiting: number, nextAt: Date | null): string {
  const [wait, first] =
    waiting === 1
      ? ['1 task that the store failed waits', '']
      : [`${formatCount(waiting)} tasks that the store failed wait`, 'the first ']
  return `${wait} for another attempt${nextAt === null ? '' : `, ${first}at ${formatInstant(nextAt)}`}`
}

/** Of posts whose answer was lost; null without one. */
export function describeUnknown({ unknownPosts, waitsUntil }: Outstanding): string | null {
  if (unknownPosts === 0) return null
  const when = waitsUntil === null ? 'the next scan' : formatInstant(waitsUntil)
  return (
    `${unknownPosts} posts are unknown: their answer was lost or is doubted. They are looked for at the ` +
    `service, and released at ${when} at the earliest.`
  )
}
