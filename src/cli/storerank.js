#!/usr/bin/env node
/**
 * Starts storerank, or says in one sentence why it cannot. This file has to be readable for the Node it turns
 * away: nothing newer than ES2017, except `import()`, and valid as a module and as a script.
 */
const NEEDED_MAJOR = 24

/**
 * The TypeScript of a checkout; a package holds what was made of it, because Node strips no types under
 * node_modules.
 */
function loadProgram() {
  return import('./start-up.ts').catch((error) => {
    if (error.code !== 'ERR_MODULE_NOT_FOUND' || !String(error.url).endsWith('/src/cli/start-up.ts'))
      throw error
    return import('../../dist/src/cli/start-up.js')
  })
}

if (Number(process.versions.node.split('.')[0]) < NEEDED_MAJOR) {
  process.stderr.write(
    `storerank needs Node ${NEEDED_MAJOR} or newer, and this is Node ${process.versions.node}: run ` +
      '`npm ci` in its folder, which brings the right one, and start it there with `npm run once` or ' +
      '`npx storerank …`.\n',
  )
  process.exitCode = 2
} else {
  loadProgram().then(
    (program) => program.main(),
    (error) => {
      process.stderr.write(`storerank cannot start: ${error.message}\nRun \`npm ci\` in its folder.\n`)
      process.exitCode = 2
    },
  )
}
