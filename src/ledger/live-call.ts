/**
 * A call that is paid for and answered at once: the search in listings. It is a task of a post of its own,
 * with the budgets, charge, lost answer, audit and recovery of every task. No watch asks for it, so that it
 * is never posted again (`dropStaleTasks`), and it is `collected` once it is charged.
 */
import type { Transaction } from '../db/database.ts'
import { oneRow } from '../db/one-row.ts'
import { LISTING_SEARCH, type Store } from '../service/functions.ts'
import type { PostToClaim } from './claim-post.ts'
import { insertSpendChanges, newReservations, RESERVATION, releasedReservations } from './money.ts'

export interface LiveCall {
  readonly store: Store
  /** What it asks for, in words. */
  readonly subject: string
  /** The one that pays; a new one is made. */
  readonly project: string
  /** The most that it may cost. */
  readonly estimateMicros: number
}

/** Makes the task and its post, with the money reserved. The caller holds the ledger's lock. */
export async function planCall(
  tx: Transaction,
  { store, subject, project, estimateMicros }: LiveCall,
): Promise<PostToClaim> {
  await tx`insert into project (name) values (${project}) on conflict (name) do nothing`
  const rows = await tx<{ id: string; payers: number[] }[]>`
    -- No place and no language: a listing is of the whole store.
    with target as (select target_of(${store}, ${LISTING_SEARCH}, ${subject}, 0, '') as id),
    slot as (
      -- The tag has it in whole seconds, and no two searches for the same have one.
      select greatest(date_trunc('second', storerank_now()), max(k.slot) + interval '1 second') as at
      from target t left join task k on k.target_id = t.id
    ),
    made as (insert into post (store, function) values (${store}, ${LISTING_SEARCH}) returning id),
    inserted as (
      insert into task (target_id, slot, slot_ends_at, priority, estimate_micros, payers, reserved_at,
        post_id)
      select t.id, s.at, s.at + interval '1 hour', 1, ${estimateMicros}::bigint, array[p.id], storerank_now(),
        m.id
      from target t, slot s, made m, project p where p.name = ${project}
      returning payers, estimate_micros, reserved_at
    ),
    ${insertSpendChanges(newReservations('inserted'))}
    select m.id, i.payers from made m, inserted i`
  return { ...oneRow(rows), store, function: LISTING_SEARCH }
}

/** Takes a call out that was not sent: no byte of its tag has left. */
export async function dropCall(tx: Transaction, postId: string): Promise<void> {
  await tx`
    with deleted as (
      delete from task k where k.post_id = ${postId} and k.state = 'posting'
      returning ${RESERVATION}
    ),
    ${insertSpendChanges(releasedReservations('deleted'))}
    select`
}
