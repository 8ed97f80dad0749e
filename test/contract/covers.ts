/**
 * Ties each test of the contract to the row of the specification that it is about, and remembers what every
 * row has. A row has two sides: the sandbox alone, asked with plain fetch, and the client, which asks the
 * same sandbox.
 */

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Deviation } from '../../src/sandbox/deviations.ts'
import type { OptionsInput } from '../../src/sandbox/options.ts'
import { isSold } from './form.ts'
import { openSharedWorld, openWorld, type World } from './world.ts'

export const SIDES = ['fetch', 'client'] as const
export type Side = (typeof SIDES)[number]

type Check = (world: World, t: TestContext) => unknown
/** A test of another file has this side: it is about more than the client or the sandbox. */
type Elsewhere = { readonly file: string; readonly test: string }
/** The row says nothing about this side, and why. */
type Nothing = { readonly because: string }

/** One side of a row, and who sees to it. */
type Coverage = {
  readonly row: string
  readonly side: Side
  readonly by: 'a test here' | Elsewhere | Nothing
}

/** The deviations that make a test untrue of the service as it is sold, on both sides or on one. */
export type Otherwise = readonly Deviation[] | Partial<Record<Side, readonly Deviation[]>>

const reasonsFor = (otherwise: Otherwise, side: Side): readonly Deviation[] => {
  if (!isSold()) return []
  return Array.isArray(otherwise)
    ? otherwise
    : ((otherwise as Partial<Record<Side, readonly Deviation[]>>)[side] ?? [])
}

/** `world` are the options of a world of its own for each side; without it both have the shared one. */
type Sides = Readonly<Record<Side, Check | Elsewhere | Nothing>> & { readonly world?: OptionsInput }

/** In the order of registration; a row may be there more than once. */
export const coverage: Coverage[] = []

/**
 * Registers the tests of a row under its name, or one that several rows share under theirs. A test that a
 * deviation makes untrue has to fail as it is sold; what is true there has a row of its own in deviations.ts.
 */
export const covers = (
  rows: string | readonly string[],
  sentence: string,
  sides: Sides,
  otherwise: Otherwise = [],
): void => {
  const names = [rows].flat()
  for (const side of SIDES) {
    const by = sides[side]
    const isHere = typeof by === 'function'
    for (const row of names) coverage.push({ row, side, by: isHere ? 'a test here' : by })
    if (!isHere) continue
    const name = `${names.join(', ')}: ${sentence} (${side})`
    const reasons = reasonsFor(otherwise, side)
    const run = async (t: TestContext) => {
      await by(sides.world ? await openWorld(t, sides.world) : await openSharedWorld(), t)
    }
    if (reasons.length === 0) test(name, run)
    else test(`${name}: not with ${reasons.join(', ')}`, (t) => assert.rejects(run(t)))
  }
}

/** The two sides of a row that one check looks at, each in its own way. */
export const bySide = (
  check: (world: World, side: Side, t: TestContext) => unknown,
  world?: OptionsInput,
): Sides => ({
  ...(world && { world }),
  fetch: (own, t) => check(own, 'fetch', t),
  client: (own, t) => check(own, 'client', t),
})

/** What becomes of a row with us, beyond the client, is tested where it happens. */
export const coversElsewhere = (row: string, file: string, name: string): void => {
  coverage.push({ row, side: 'client', by: { file, test: name } })
}
