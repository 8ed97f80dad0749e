/**
 * Which files of tests share processes, and in which order they start. Loading the product takes a process of
 * tests almost a second of CPU, more than the tests of most files take: a process runs one file after the
 * other.
 */
import { globSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'

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

/**
 * The files of each process that has its own, a proof or one of `ALONE`, in the order of their start; and
 * what the other processes share.
 * @param files paths below the project
 */
function groupFiles(files: readonly string[]): { own: string[]; shared: string[] } {
  const isOwn = (file: string) => file.endsWith('.proof.ts') || ALONE.includes(file)
  const first = [...DEAREST, ...ALONE].filter((file) => files.includes(file))
  const sorted = [...first, ...files.filter((file) => !first.includes(file)).sort()]
  return { own: sorted.filter(isOwn), shared: sorted.filter((file) => !isOwn(file)) }
}

/**
 * Writes a module for each process, whose names have the order in which `node --test` starts them. Those that
 * share files take the next one when they have ended one. Each file is a suite in its process: what it
 * registers before and after its tests is about its own.
 * @param patterns files or glob patterns, relative to the project
 * @param folder where the modules are written
 * @param processes how many share the files that need none of their own
 * @throws Error when a pattern names no file
 */
export async function writeEntries(
  project: string,
  patterns: readonly string[],
  folder: string,
  processes: number,
): Promise<string[]> {
  const found = patterns.map((pattern) => globSync(pattern, { cwd: project }))
  const empty = found.findIndex((files) => files.length === 0)
  if (empty >= 0) throw new Error(`There is no file of tests ${patterns[empty]}.`)
  const files = [...new Set(found.flat().map((file) => relative(project, join(project, file))))]
  const { own, shared } = groupFiles(files)
  const sharing = Array.from({ length: Math.min(processes, shared.length) }, () => shared)
  const entries = [...own.map((file) => [file]), ...sharing].map((group, n) => ({
    path: join(folder, `${String(n).padStart(3, '0')}.mjs`),
    text: `import { runNext } from ${JSON.stringify(new URL('run-next.ts', import.meta.url))}
      await runNext(${JSON.stringify(project)}, ${JSON.stringify(folder)}, ${JSON.stringify(group)})`,
  }))
  for (const { path, text } of entries) await writeFile(path, text)
  return entries.map(({ path }) => path)
}
