/** One of many processes that migrate at once; says how many migrations it applied. */
import { migrate } from '../../src/db/migrate.ts'

process.stdout.write(String(await migrate(process.env.DATABASE_URL ?? '')))
