/**
 * Which files of tests share a process, and in which order the processes start. Loading the product takes a
 * process of tests almost a second of CPU, more than the tests of most files take: cheap files run in one
 * process, one after the other.
 */
import { globSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'

/** They start first, the longest one before the others: in the end no core waits for one of them. */
const DEAREST = [
  'test/cli/demo.proof.ts',
  'test/flow/faults.proof.ts',
  'test/crash/guards.proof.ts',
  'test/crash/crash.proof.ts',
  'test/soak/soak.proof.ts',
  'test/cli/export.proof.ts',
  'test/flow/runners.test.ts',
  'test/flow/cycle.test.ts',
  'test/queue/job.test.ts',
  'test/queue/scheduler.test.ts',
  'test/cli/check.test.ts',
  'test/cli/own-account.test.ts',
  'test/post/recover.test.ts',
  'test/history/close-slots.test.ts',
  'test/plan/due.test.ts',
  'test/collect/receiver.test.ts',
  'test/audit/compare.test.ts',
  'test/cli/status-check.test.ts',
  'test/cli/run.test.ts',
  'test/flow/postbacks.test.ts',
  'test/db/migrate.test.ts',
  'test/db/settings.test.ts',
  'test/db/upgrade.test.ts',
  'test/queue/runner.test.ts',
]

/**
 * Both run the tests of the same modules, one as the service is specified and one as it is sold. A process
 * loads a module once: together in one, the second would run none of them.
 */
const ALONE = ['test/contract/as-sold.test.ts', 'test/contract/contract.test.ts']

/** So few that a process takes about half a minute: what is left in the end is short. */
const FILES_PER_PROCESS = 16
const DEAREST_PER_PROCESS = 3

/**
 * The files of each process, in the order of their start. A proof and a file of `ALONE` have their own.
 * @param files paths below the project
 */
function groupFiles(files: readonly string[]): string[][] {
  const isProof = (file: string) => file.endsWith('.proof.ts')
  const known = [...DEAREST, ...ALONE]
  const others = files.filter((file) => !known.includes(file)).sort()
  const own = [...DEAREST.filter(isProof), ...others.filter(isProof), ...ALONE]
  const dearest = DEAREST.filter((file) => !isProof(file) && files.includes(file))
  const cheap = others.filter((file) => !isProof(file))
  return [
    ...own.filter((file) => files.includes(file)).map((file) => [file]),
    ...cut(dearest, DEAREST_PER_PROCESS),
    ...cut(cheap, FILES_PER_PROCESS),
  ]
}

/** Pieces of almost the same length. */
function cut(files: readonly string[], longest: number): string[][] {
  const pieces = Math.ceil(files.length / longest)
  const bounds = Array.from({ length: pieces + 1 }, (_, n) => Math.round((n * files.length) / pieces))
  return bounds.slice(1).map((end, n) => files.slice(bounds[n], end))
}

/**
 * Writes a module for each process, whose names have the order in which `node --test` starts them. Each file
 * is a suite in it: what it registers before and after its tests is about its own.
 * @param patterns files or glob patterns, relative to the project
 * @param folder where the modules are written
 * @throws Error when a pattern names no file
 */
export async function writeEntries(
  project: string,
  patterns: readonly string[],
  folder: string,
): Promise<string[]> {
  const found = patterns.map((pattern) => globSync(pattern, { cwd: project }))
  const empty = found.findIndex((files) => files.length === 0)
  if (empty >= 0) throw new Error(`There is no file of tests ${patterns[empty]}.`)
  const files = [...new Set(found.flat().map((file) => relative(project, join(project, file))))]
  const entries = groupFiles(files).map((group, n) => ({
    path: join(folder, `${String(n).padStart(3, '0')}.mjs`),
    text: [
      "import { describe } from 'node:test'",
      ...group.map((file) => {
        const url = pathToFileURL(join(project, file)).href
        return `await describe(${JSON.stringify(file)}, () => import(${JSON.stringify(url)}))`
      }),
      '',
    ].join('\n'),
  }))
  for (const { path, text } of entries) await writeFile(path, text)
  return entries.map(({ path }) => path)
}
