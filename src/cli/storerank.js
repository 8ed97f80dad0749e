#!/usr/bin/env node
/**
 * Starts storerank, or says in one sentence why it cannot. This file has to be readable for the Node it turns away:
 * nothing newer than ES2017, except `import()`, and valid as a module and as a script.
 */
const NEEDED_MAJOR = 24

if (Number(process.versions.node.split('.')[0]) < NEEDED_MAJOR) {
  process.stderr.write(
    `storerank needs Node ${NEEDED_MAJOR} or newer, and this is Node ${process.versions.node}: run \`npm ci\` in its folder, which ` +
      'brings the right one, and start it there with `npm run once` or `npx storerank …`.\n',
  )
  process.exitCode = 2
} else {
  import('./main.ts').then(
    (program) => program.main(),
    (error) => {
      process.stderr.write(`storerank cannot start: ${error.message}\nRun \`npm ci\` in its folder.\n`)
      process.exitCode = 2
    },
  )
}
