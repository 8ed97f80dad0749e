/** A sandbox with an account of its own, for commands of a person who has both a database and an account. */
import { createServer, type IncomingMessage, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { startSandbox } from '../../src/sandbox/server.ts'
import { askService } from '../support/command.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { lasting } from '../support/lasting.ts'

export const LOGIN = 'somebody@example.com'
export const PASSWORD = 'hush-Kd83-quiet'
export const KEYWORDS = ['yoga', 'c++', '100% free', 'naïve', '日本語', 'calm']

const sandbox = lasting(() =>
  startSandbox({ readyMs: 0, readyListsPerMinute: 1000, login: LOGIN, password: PASSWORD }),
)

/** What a person sets who has both. The password is a secret also where the server does not ask for one. */
export function settings(database: TestDatabase, changes: Record<string, string> = {}) {
  const url = new URL(database.url)
  url.password ||= 'hush-db-72'
  const account = { APP_DATA_URL: sandbox.url, APP_DATA_LOGIN: LOGIN, APP_DATA_PASSWORD: PASSWORD }
  return { env: { DATABASE_URL: url.href, ...account, ...changes } }
}

export const books = () => askService(sandbox.url, { login: LOGIN, password: PASSWORD })

export async function watchKeywords(database: TestDatabase) {
  // The databases of the other tests, clones like this one, have posted to the same account.
  await database.sql`update ledger set installation = default, is_apart = true`
  await database.sql`
    insert into keyword_watch (project, store, keyword, location_code, language_code)
    select 'fitness', 'ios_store', keyword, 2840, 'en' from unnest(${KEYWORDS}::text[]) keyword`
  await database.sql`insert into app_watch (project, store, app_id)
    values ('fitness', 'ios_store', '1480010017')`
}

export async function withDatabase(
  work: (database: TestDatabase) => Promise<void>,
  make = createTestDatabase,
) {
  const database = await make()
  try {
    await work(database)
  } finally {
    await database.drop()
  }
}

/** A service that passes a request on to the sandbox when the test says so. */
export async function startProxy(handle: (incoming: IncomingMessage, pass: () => void) => void) {
  const server = createServer((incoming, answer) => {
    handle(incoming, () => {
      const { method = 'GET', url = '/', headers } = incoming
      const forwarded = request(new URL(url, sandbox.url), { method, headers }, (response) => {
        answer.writeHead(response.statusCode ?? 500, response.headers)
        response.pipe(answer)
      })
      incoming.pipe(forwarded)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}
