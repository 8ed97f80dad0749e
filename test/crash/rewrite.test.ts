import { test } from 'node:test'
import { GUARDS, type GuardName, rewritesOf } from './guards.ts'
import { checkRewrites } from './rewrite.ts'

for (const scenario of [null, ...(Object.keys(GUARDS) as GuardName[])]) {
  for (const isGuarded of scenario === null ? [true] : [true, false]) {
    const guard = isGuarded ? 'with its guards' : 'without its guard'
    test(`the places of a blow are in the source: ${scenario ?? 'at random'}, ${guard}`, () => {
      checkRewrites(rewritesOf(scenario, isGuarded))
    })
  }
}
