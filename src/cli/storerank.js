#!/usr/bin/env node
/**
 * Starts storerank, by the Node that `npm ci` has brought where the one that runs this is too old, or says in
 * one sentence why it cannot. This file has to be readable for the Node it turns
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

/** With this terminal, and ended by the same signals. */
function startWithOwnNode() {
  return Promise.all(['node:child_process', 'node:fs', 'node:path'].map((name) => import(name))).then(
    ([{ spawn }, fs, path]) => {
      const program = fs.realpathSync(process.argv[1])
      const node = path.join(path.dirname(program), '../../node_modules/node/bin/node')
      if (!fs.existsSync(node)) throw new Error('it brings none')
      const child = spawn(node, process.argv.slice(1), { stdio: 'inherit' })
      const pass = (signal) => child.kill(signal)
      process.on('SIGTERM', pass).on('SIGINT', () => {})
      child.on('exit', (code, signal) =>
        process.exit(code === null ? (signal === 'SIGKILL' ? 137 : 1) : code),
      )
    },
  )
}

if (Number(process.versions.node.split('.')[0]) < NEEDED_MAJOR) {
  startWithOwnNode().catch(() => {
    process.stderr.write(
      `storerank needs Node ${NEEDED_MAJOR} or newer, and this is Node ${process.versions.node}: run ` +
        '`npm ci` in its folder, which brings the right one (with `ignore-scripts`, which pnpm has by ' +
        'default, also `npm rebuild node`), and start it there with `npm run once`.\n',
    )
    process.exitCode = 2
  })
} else {
  loadProgram().then(
    (program) => program.main(),
    (error) => {
      process.stderr.write(`storerank cannot start: ${error.message}\nRun \`npm ci\` in its folder.\n`)
      process.exitCode = 2
    },
  )
}
