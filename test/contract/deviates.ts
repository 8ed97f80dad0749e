/**
 * Ties each test to the deviation that it is about: the service in its specification's form but for this one
 * way, asked by plain fetch. What the client makes of them stands in the rows of the contract, which
 * as-sold.test.ts asks with all of them, and here where no row has it. docs/service.md has a row for each.
 */

import { test } from 'node:test'
import type { Deviation } from '../../src/sandbox/deviations.ts'
import type { OptionsInput } from '../../src/sandbox/options.ts'
import type { AppDataClient } from '../../src/service/client.ts'
import { type Caller, openSandbox } from '../sandbox/caller.ts'
import { openClient, testClock } from '../service/wire-server.ts'
import { AMPLE } from './world.ts'

type Check<Asked> = (asked: Asked) => Promise<void>

/** Registers the tests of a deviation; `options` are others of the sandbox. */
export const deviates = (
  deviation: Deviation,
  sentence: string,
  sides: Check<Caller> | { fetch: Check<Caller>; client: Check<AppDataClient> },
  options: OptionsInput = {},
): void => {
  const open = (t: Parameters<typeof openSandbox>[0]) =>
    openSandbox(t, { readyMs: 0, ...AMPLE, ...options, deviations: [deviation] })
  const { fetch, client } = 'fetch' in sides ? sides : { fetch: sides, client: undefined }
  test(`${deviation}: ${sentence} (fetch)`, async (t) => fetch(await open(t)))
  if (client === undefined) return
  test(`${deviation}: ${sentence} (client)`, async (t) => {
    const { url, clock } = await open(t)
    const login = { login: 'sandbox', password: 'sandbox' }
    await client(openClient(t, url, { ...login, clock: { ...testClock(), wallMs: () => clock.nowMs } }))
  })
}
