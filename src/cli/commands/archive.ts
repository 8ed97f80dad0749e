import { resolve } from 'node:path'
import { archiveMonths } from '../../archive/archive.ts'
import { countOf } from '../../text/words.ts'
import { command, flag, option, required } from '../command.ts'
import { database } from '../database-session.ts'
import { day } from '../option-values.ts'

export const archive = command({
  group: 'Keep',
  summary: 'write whole months of the history as Parquet files, and compare them with the database',
  options: {
    before: required(option('<day>', 'months that end by that day, such as 2026-01-01', day)),
    to: required(option('<folder>', 'where the files are written; what stands there is never written over')),
    drop: flag('then drop these months from the database'),
  },
  examples: ['storerank archive --before 2026-01-01 --to /srv/ranks --drop'],
  needs: database(),
  run: async (options, { stdout, signal }, { db }) => {
    const before = new Date(`${options.before}T00:00:00Z`)
    const wants = { before, folder: resolve(options.to), drops: options.drop, signal }
    let months = 0
    // A month may take minutes, so each is told when it is done.
    for await (const { file, rows, isNew, isDropped } of archiveMonths(db, wants)) {
      months += 1
      const dropped = isDropped ? ', dropped from the database' : ''
      const became = `${isNew ? 'written' : 'there already'} and verified${dropped}`
      stdout.write(`${file}: ${countOf(rows, 'row')}, ${became}\n`)
    }
    const none = `No month of the history ends before ${options.before}.`
    return { parts: months === 0 ? [none] : [] }
  },
})
