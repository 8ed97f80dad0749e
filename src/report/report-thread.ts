/**
 * Pages and summaries, each in a thread of its own, which reads the report: one of 2,000 keywords and 80 apps
 * takes many seconds, in which the loop of `storerank start` would answer nobody. What exhausts the memory of
 * the thread ends it alone.
 */
import { once } from 'node:events'
import { parentPort, Worker, workerData } from 'node:worker_threads'
import { type Database, openDatabase } from '../db/database.ts'
import { ConfigurationError } from '../errors.ts'
import { chooseSections, type SectionName, type Shown } from '../sections.ts'
import { type PageOptions, renderPage } from './page/page.ts'
import { type ReportQuery, readReport } from './read.ts'
import type { Span } from './scope.ts'
import { summarise } from './summary.ts'

interface Work {
  readonly url: string
  readonly query: ReportQuery
  readonly what: { readonly page: PageOptions } | { readonly span: Span; readonly shown: Shown }
}
type Answer =
  | { readonly made: unknown }
  | { readonly problem: string; readonly code: unknown; readonly isOfConfiguration: boolean }

/** @param signal ends what is being made @throws what `readReport` does */
export async function makePage(
  { url }: Pick<Database, 'url'>,
  query: ReportQuery,
  page: PageOptions,
  signal?: AbortSignal,
): Promise<string> {
  return (await make({ url, query, what: { page } }, signal)) as string
}

/**
 * What a digest says beside its events: a report of its last days in sentences.
 * @param span the days that are compared: a digest of 7 days reads 8
 * @param without sections of the report that it leaves out
 */
export async function makeDigest(
  { url }: Pick<Database, 'url'>,
  project: string,
  span: Span,
  without: readonly SectionName[] = [],
): Promise<string[]> {
  const query = { project, days: span + 1, spans: [1, span] }
  return (await make({ url, query, what: { span, shown: chooseSections(undefined, without) } })) as string[]
}

async function make(work: Work, signal?: AbortSignal): Promise<unknown> {
  const worker = new Worker(import.meta.filename, { workerData: { reportWork: work } })
  try {
    const [answer] = (await once(worker, 'message', { ...(signal && { signal }) })) as [Answer]
    if ('made' in answer) return answer.made
    const { problem, code, isOfConfiguration } = answer
    throw isOfConfiguration ? new ConfigurationError(problem) : Object.assign(new Error(problem), { code })
  } finally {
    worker.on('error', () => {})
    await worker.terminate()
  }
}

async function answer({ url, query, what }: Work): Promise<Answer> {
  try {
    const db = openDatabase(url, { name: 'storerank reports', maxConnections: 1 })
    const report = await readReport(db, query)
    if ('page' in what) return { made: renderPage(report, what.page) }
    return { made: summarise(report, what.span, what.shown).map(({ about, text }) => `${about}: ${text}`) }
  } catch (error) {
    const { message, code } = error as Error & { code?: unknown }
    return { problem: message, code, isOfConfiguration: error instanceof ConfigurationError }
  }
}

if (workerData?.reportWork) parentPort?.postMessage(await answer(workerData.reportWork))
