/**
 * Loaded with `--import`: Node reads the 180 KB manifest of drizzle-orm anew for each of its files, which is
 * most of what a test process would load. Its relative imports are resolved without.
 */
import { registerHooks } from 'node:module'

registerHooks({
  resolve: (specifier, context, nextResolve) => {
    const isInside = /^\..*\.js$/.test(specifier) && context.parentURL?.includes('/node_modules/drizzle-orm/')
    return isInside
      ? { url: new URL(specifier, context.parentURL).href, format: 'module', shortCircuit: true }
      : nextResolve(specifier, context)
  },
})
