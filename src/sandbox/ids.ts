/** The ids of tasks and answers. */

import { randomBytes, randomUUID } from 'node:crypto'
import type { Deviations } from './deviations.ts'
import { hashText } from './hash.ts'

/** Makes an id. `nowMs` is the moment of the call, `functionName` what it is for. */
export type MakeId = (nowMs: number, functionName: string) => string

/** The group of an id that tells the accounts of the service apart. */
const ACCOUNT_DIGITS = '1535'

const digits = (number: number): string => String(number % 10_000).padStart(4, '0')

/**
 * `11081554-1535-0066-0000-27e68ec15871`: month, day, hour and minute, groups of digits, and twelve of
 * chance.
 */
const makeSoldId: MakeId = (nowMs, functionName) => {
  const minute = new Date(nowMs).toISOString().slice(5, 16).replaceAll(/\D/g, '')
  return [
    minute,
    ACCOUNT_DIGITS,
    digits(hashText(functionName)),
    '0000',
    randomBytes(6).toString('hex'),
  ].join('-')
}

/** UUIDs, or the ids of the service as it is sold. */
export const chooseIds = (deviations: Deviations): MakeId =>
  deviations.has('ids') ? makeSoldId : () => randomUUID()
