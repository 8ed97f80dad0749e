/** Rows of the classes of codes: what the client makes of any code that an answer may have. */

import assert from 'node:assert/strict'
import type { AppDataClient } from '../../src/service/client.ts'
import { ask, envelope, taskWith } from '../service/wire-server.ts'
import { covers } from './covers.ts'
import { postAnswered, postWire, task } from './world.ts'

/** What the client makes of any code of a class, in a task that is fetched. */
const coverClass = (
  rows: string | readonly string[],
  sentence: string,
  codes: readonly number[],
  expected: string,
): void => {
  covers(rows, sentence, {
    fetch: { because: 'It is about the client: which code comes when is in the rows of the codes.' },
    client: async (_world, t) => {
      for (const code of codes) {
        const look = (client: AppDataClient) => client.getAppInfo('ios_store', 'id-1')
        const answer = envelope([taskWith(null, { status_code: code, status_message: 'As it is.' })])
        const { kind } = await ask(t, answer, look).then(
          ({ value }) => value,
          (error) => ({ kind: error.code }),
        )
        assert.equal(kind, expected, String(code))
      }
    },
  })
}
coverClass('code_class.20000_ok', 'is done, and then has a result', [20000], 'unreadable')
coverClass('code_class.40601_40602_pending', 'waits on', [40601, 40602], 'pending')
coverClass('code_class.402xx', 'is about the account', [40201, 40204, 40207], 'account')
coverClass('code_class.402xx', 'is about one task where it is unknown', [40205, 40206, 40299], 'failed')
coverClass('code_class.402xx', 'is about money', [40200, 40203, 40210], 'account_money')
coverClass('code_class.402xx', 'is about pace', [40202, 40209], 'rate_limited')
coverClass('code_class.4xxxx', 'is final for the task', [40000, 40501, 41234, 49999], 'failed')
coverClass('code_class.5xxxx', 'passes, and is asked again', [50000, 50301, 54321, 60000], 'unavailable')
coverClass(
  ['code_class.any_code_in_10000_60000', 'statement.all_codes_in_10000_60000'],
  'outside of every class it says nothing of the task',
  [10000, 19999, 25000, 39999],
  'unavailable',
)
covers('code_class.20100_created', 'is the proof that a task exists', {
  fetch: async (world) => assert.equal((await postWire(world)).status_code, 20100),
  client: async (world) => {
    const [answer] = await postAnswered(world.client, [task()])
    assert.deepEqual([answer?.statusCode, answer?.costMicros], [20100, 1200])
  },
})
