/** Makes a process start quickly, and then runs the command line. */
import { enableCompileCache, registerHooks } from 'node:module'
import { fileURLToPath } from 'node:url'

// Beside the installed packages, it halves the CPU of a short command. Where the folder cannot be written,
// nothing is kept. Not in the system's temporary folder, where others could lay code for us to run.
enableCompileCache(fileURLToPath(new URL('../../node_modules/.cache/storerank', import.meta.url)))

// Drizzle and zod in their CommonJS form. Node 24 reads Drizzle's package.json of 180 KB again for each of
// its ES modules: 0.6 s of every command, against 0.1 s. Of zod, which every command loads for its settings,
// it saves 40 ms; and its messages in sixty languages, of which none is shown, are as much again.
registerHooks({
  resolve: (specifier, context, next) => {
    if (specifier === '../locales/index.cjs' && context.parentURL?.includes('/node_modules/zod/'))
      return next('../locales/en.cjs', context)
    return /^(drizzle-orm|zod)(\/|$)/.test(specifier)
      ? next(specifier, { ...context, conditions: ['node', 'require'] })
      : next(specifier, context)
  },
})

/** Runs the command line of this process and ends it. */
export async function main(): Promise<void> {
  const program = await import('./main.ts')
  await program.main()
}
