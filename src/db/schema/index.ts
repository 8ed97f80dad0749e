/** The whole schema, as the migrations in drizzle/ make it; test/db/schema.test.ts says that they agree. */
export * from './alert.ts'
export * from './due.ts'
export * from './history.ts'
export * from './project.ts'
export * from './report.ts'
export * from './service.ts'
export * from './watch.ts'
export * from './work.ts'
