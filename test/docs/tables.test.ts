import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { readTable, TABLES } from './tables.ts'

describe('what is declared stands in the pages as `npm run docs` writes it:', () => {
  for (const table of TABLES)
    test(`the table of ${table.name} in ${table.page}`, async () => {
      assert.equal(readTable(table).text, await table.draw())
    })
})
