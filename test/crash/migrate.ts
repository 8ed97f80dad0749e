/** One of many processes that migrate at once; says whether it changed anything. */
import { migrate } from '../../src/db/migrate.ts'

process.stdout.write(String(await migrate(process.env.DATABASE_URL ?? '')))
