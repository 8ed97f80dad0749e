/**
 * What `npm test` runs: every `*.test.ts`, or the files it is given, with the options of `node --test`.
 * `TEST_DATABASE_URL`, the URL of a superuser on a PostgreSQL 15 or later, replaces the temporary server;
 * nothing is left on it but the two roles that the migration makes: they belong to the whole server.
 */
import process from 'node:process'
import { runSuite } from './support/suite.ts'

const args = process.argv.slice(2)
const options = args.filter((each) => each.startsWith('-'))
const files = args.filter((each) => !each.startsWith('-'))

const { failed } = await runSuite({
  files: files.length === 0 ? ['test/**/*.test.ts'] : files,
  options,
  serverUrl: process.env.TEST_DATABASE_URL,
})
process.exitCode = failed === 0 ? 0 : 1
