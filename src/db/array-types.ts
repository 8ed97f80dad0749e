/**
 * How arrays are written and read. A client of postgres.js asks the server for it on its first connection,
 * and what it then reads arrays with holds that connection, and with it the client and all statements that
 * its connections have prepared. So a client of its own asks, once in the process, and ends. What it was told
 * serves all clients: these types are the same on every server.
 */
import postgres from 'postgres'
import { released, type Statement } from './statement.ts'

type Client = postgres.Sql<{ int8: number }>

/** What the declared type of the driver's options lacks. */
interface Options extends Pick<postgres.ParsedOptions, 'parsers' | 'serializers'> {
  fetch_types: boolean
  readonly shared: { readonly typeArrayMap: Record<number, number> }
}

/** Types that are made in a database have greater numbers. */
const FIRST_OF_DATABASE = 16_384

/** Nothing is under way on it then. */
const CLOSE_TIMEOUT_S = 1

let asked: Promise<void> | null = null
let known: Options | null = null

/**
 * To be awaited before the first statement of a client, so that the process knows how arrays are written.
 * @throws what the driver throws where the server cannot be reached; the next call asks again
 */
export function learnArrayTypes(client: Client): Promise<void> {
  asked ??= ask(client).catch((error) => {
    asked = null
    throw error
  })
  return asked
}

async function ask({ options }: Client): Promise<void> {
  const own = {
    ...options,
    max: 1,
    fetch_types: true,
    onclose: undefined,
    onnotice: ignore,
    ...withoutArrays(options),
    shared: { retries: 0, typeArrayMap: {} },
  }
  const client = postgres(own as unknown as postgres.Options<Record<string, never>>)
  try {
    // Its answer comes after that to what the driver asks.
    await released(client`select` as unknown as Statement)
    known = own
  } finally {
    await client.end({ timeout: CLOSE_TIMEOUT_S })
  }
}

/**
 * What a session of its own has learned before shares the tables of its pool. The driver passes over what it
 * finds in them.
 */
function withoutArrays({
  parsers,
  serializers,
}: postgres.ParsedOptions): Pick<Options, 'parsers' | 'serializers'> {
  const arrays = new Set(
    Object.entries(parsers).flatMap(([type, parser]) =>
      (parser as { array?: boolean }).array ? [type] : [],
    ),
  )
  const others = <Table extends object>(table: Table) =>
    Object.fromEntries(Object.entries(table).filter(([type]) => !arrays.has(type))) as Table
  return { parsers: others(parsers), serializers: others(serializers) }
}

function ignore(): void {}

/** To be called before a client connects, so that it need not ask. */
export function useArrayTypes(client: Client): void {
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
