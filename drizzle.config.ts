import { defineConfig } from 'drizzle-kit'

/** For the developer who changes src/db/schema: `npx drizzle-kit generate --name what_changed`. */
export default defineConfig({ dialect: 'postgresql', schema: './src/db/schema', out: './drizzle' })
