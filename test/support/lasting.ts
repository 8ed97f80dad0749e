/** What the tests of a file share. */
import { after, before } from 'node:test'

/**
 * What `make` makes before the tests of a file, and what is dropped or closed after them. It is there within
 * tests and hooks alone.
 */
export function lasting<T extends { drop(): Promise<unknown> } | { close(): Promise<unknown> }>(
  make: () => Promise<T>,
): T {
  let made: T | undefined
  before(async () => {
    made = await make()
  })
  after(() => made !== undefined && ('drop' in made ? made.drop() : made.close()))
  return new Proxy({} as T, {
    get: (_, key) => Reflect.get(made ?? {}, key),
    has: (_, key) => key in (made ?? {}),
    ownKeys: () => Reflect.ownKeys(made ?? {}),
    getOwnPropertyDescriptor: (_, key) => ({
      ...Reflect.getOwnPropertyDescriptor(made ?? {}, key),
      configurable: true,
    }),
  })
}
