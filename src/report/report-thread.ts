/**
 * Pages and summaries in a thread of their own: those of 2,000 keywords and 80 apps take many seconds, in
 * which the loop of `storerank start` would answer nobody. What exhausts the memory of the thread ends
 * it alone.
 */
import { once } from 'node:events'
import { parentPort, Worker, workerData } from 'node:worker_threads'
import { openDatabase } from '../db/database.ts'
import { ConfigurationError } from '../errors.ts'
import type { Shown } from '../sections.ts'
import type { Span } from './model.ts'
import { type PageOptions, renderPage } from './page/page.ts'
import { type ReportQuery, readReport } from './read.ts'
import { type Finding, summarise } from './summary.ts'

export interface ReportThread extends AsyncDisposable {
  makePage(query: ReportQuery, options: PageOptions): Promise<string>
  /** What a report says in sentences, of its last days compared with those `span` days before. */
  summarise(query: ReportQuery, span: Span, shown: Shown): Promise<readonly Finding[]>
}

type Request =
  | { readonly query: ReportQuery; readonly page: PageOptions }
  | { readonly query: ReportQuery; readonly span: Span; readonly shown: Shown }
type Answer =
  | { readonly made: unknown }
  | { readonly problem: string; readonly code: unknown; readonly isOfConfiguration: boolean }

/**
 * The thread starts with the first of them. It reads the reports itself: handing one over would block the
 * loop for seconds.
 * @param url of the database
 * @param signal ends what is being made
 * @returns makes one at a time; both throw what `readReport` does
 */
export function startReportThread(url: string, signal?: AbortSignal): ReportThread {
  let worker: Worker | undefined
  const start = () => {
    // An error ends the thread: what is being made fails with it, and what comes next has a new one.
    return new Worker(import.meta.filename, { workerData: { reportsOf: url } }).on('error', () => {
      worker = undefined
    })
  }
  const make = async (request: Request): Promise<unknown> => {
    worker ??= start()
    const answered = once(worker, 'message', { ...(signal && { signal }) })
    worker.postMessage(request)
    const [answer] = (await answered) as [Answer]
    if ('made' in answer) return answer.made
    const { problem, code, isOfConfiguration } = answer
    throw isOfConfiguration ? new ConfigurationError(problem) : Object.assign(new Error(problem), { code })
  }
  return {
    makePage: (query, page) => make({ query, page }) as Promise<string>,
    summarise: (query, span, shown) => make({ query, span, shown }) as Promise<readonly Finding[]>,
    [Symbol.asyncDispose]: async () => void (await worker?.terminate()),
  }
}

async function answerOf(db: ReturnType<typeof openDatabase>, request: Request): Promise<Answer> {
  try {
    const report = await readReport(db, request.query)
    return {
      made:
        'page' in request ? renderPage(report, request.page) : summarise(report, request.span, request.shown),
    }
  } catch (error) {
    const { message, code } = error as Error & { code?: unknown }
    return { problem: message, code, isOfConfiguration: error instanceof ConfigurationError }
  }
}

function serve(url: string): void {
  const db = openDatabase(url, { name: 'storerank reports', maxConnections: 1 })
  parentPort?.on('message', async (request: Request) => {
    parentPort?.postMessage(await answerOf(db, request))
  })
}

if (typeof workerData?.reportsOf === 'string') serve(workerData.reportsOf)
