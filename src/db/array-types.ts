/**
 * How arrays are written and read. The first connection of a client of postgres.js asks the server for it, and ends the process
 * when its session ends meanwhile. What one client was told serves all clients of the process: these types are the same on every
 * server.
 */
import type postgres from 'postgres'

/** What the declared type of the driver's options lacks. */
interface Options extends Pick<postgres.ParsedOptions, 'parsers' | 'serializers'> {
  fetch_types: boolean
  readonly shared: { readonly typeArrayMap: Record<number, number> }
}

/** Types that are made in a database have greater numbers. */
const FIRST_OF_DATABASE = 16_384

let known: Options | null = null

/** To be called before a client connects, so that it need not ask. */
export function useArrayTypes(client: postgres.Sql<{ int8: number }>): void {
  const options = client.options as unknown as Options
  if (known === null || !options.fetch_types) return
  options.fetch_types = false
  for (const [element, array] of Object.entries(known.shared.typeArrayMap)) {
    if (array >= FIRST_OF_DATABASE) continue
    options.shared.typeArrayMap[Number(element)] = array
    options.parsers[array] ??= known.parsers[array] as never
    options.serializers[array] ??= known.serializers[array] as never
  }
}

/** To be called with a client whose first statement was answered, which comes after it has asked. */
export function learnArrayTypes(client: postgres.Sql<{ int8: number }>): void {
  known ??= client.options as unknown as Options
  ;(client.options as unknown as Options).fetch_types = false
}
