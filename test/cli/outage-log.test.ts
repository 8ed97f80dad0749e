import assert from 'node:assert/strict'
import { beforeEach, describe, test } from 'node:test'
import { pino } from 'pino'
import { createOutageLog } from '../../src/cli/outage-log.ts'
import { UnavailableError } from '../../src/errors.ts'
import { until } from '../support/world.ts'

const AWAY = 'warn: the database is away; the work goes on when it is back'
const BACK = 'info: the database is back'

let lines: string[]
const log = pino(
  { level: 'debug', formatters: { level: (label) => ({ level: label }) } },
  {
    write: (line: string) => {
      const { level, msg } = JSON.parse(line)
      lines.push(`${level}: ${msg}`)
    },
  },
)
const refused = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })

beforeEach(() => {
  lines = []
})

describe('the log of an outage', () => {
  test('has one sentence for all who meet it, and one when it is over', async () => {
    let answer: () => Promise<unknown> = () => Promise.reject(refused)
    const outages = createOutageLog(log, () => answer(), 1)
    outages.error({ err: refused }, 'job failed')
    outages.warn(
      { err: new UnavailableError('It could not be claimed.', { cause: refused }) },
      'post is not done',
    )
    assert.deepEqual(lines, [AWAY, 'debug: job failed', 'debug: post is not done'])
    answer = () => Promise.resolve()
    await until('it is over', async () => lines.includes(BACK))
    lines = []
    outages.error({ err: refused }, 'job failed')
    assert.ok(lines.includes(AWAY))
    await until('it is over', async () => lines.includes(BACK))
  })

  test('goes on until the database answers', async () => {
    let asked = 0
    const outages = createOutageLog(
      log,
      async () => {
        asked += 1
        if (asked > 2) return
        outages.error({ err: refused }, 'job failed')
        throw refused
      },
      1,
    )
    outages.error({ err: refused }, 'job failed')
    await until('it is over', async () => lines.includes(BACK))
    assert.equal(lines.filter((line) => line === AWAY).length, 1)
  })

  test('leaves alone what is about something else', () => {
    const outages = createOutageLog(log, async () => {}, 1)
    outages.error({ err: new TypeError('mine') }, 'job failed')
    outages.warn({ reason: 'slow' }, 'the service asks for a slower pace')
    outages.warn('a text alone')
    outages.info('started')
    assert.deepEqual(lines, [
      'error: job failed',
      'warn: the service asks for a slower pace',
      'warn: a text alone',
      'info: started',
    ])
  })
})
