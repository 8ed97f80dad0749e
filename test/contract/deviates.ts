/**
 * Ties each test to the deviation that it is about: the service in its specification's form but for this one
 * way, asked by plain fetch and by the client. docs/service.md has a row for each, which names its test by
 * these words.
 */

import { type TestContext, test } from 'node:test'
import type { Deviation } from '../../src/sandbox/deviations.ts'
import type { OptionsInput } from '../../src/sandbox/options.ts'
import type { AppDataClient } from '../../src/service/client.ts'
import { type Caller, openSandbox } from '../sandbox/caller.ts'
import { openClient, testClock } from '../service/wire-server.ts'
import { SIDES } from './covers.ts'
import { SEGMENTS } from './form.ts'
import { AMPLE } from './world.ts'

/** Each side of one deviation. */
type Sides = {
  fetch(world: Caller): Promise<void>
  client(client: AppDataClient, world: Caller): Promise<void>
}

/** Registers both sides of a deviation; `options` are others of the sandbox. */
export const deviates = (
  deviation: Deviation,
  sentence: string,
  sides: Sides,
  options: OptionsInput = {},
): void => {
  for (const side of SIDES) {
    test(`${deviation}: ${sentence} (${side})`, async (t: TestContext) => {
      const deviations = [deviation]
      const world = await openSandbox(t, { readyMs: 0, ...AMPLE, ...options, deviations })
      const client = openClient(t, world.url, {
        login: 'sandbox',
        password: 'sandbox',
        clock: { ...testClock(), wallMs: () => world.clock.nowMs },
        ...(deviation === 'paths' && { stores: SEGMENTS }),
      })
      await (side === 'fetch' ? sides.fetch(world) : sides.client(client, world))
    })
  }
}
