/**
 * The pages of all projects in one folder, each written anew when a collection of its project has brought
 * something and nothing of it is under way any more. The last page of a project stays, also when the project
 * is disabled. A page that cannot be made keeps no other one from being written.
 */
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { access, chmod, constants, open, stat } from 'node:fs/promises'
import { join } from 'node:path'
import packageJson from '../../package.json' with { type: 'json' }
import type { Database } from '../db/database.ts'
import { oneRow } from '../db/one-row.ts'
import { ConfigurationError } from '../errors.ts'
import { makeFolder } from '../make-folder.ts'
import { whyNot } from '../trouble.ts'
import { readLogo } from './page/logo.ts'
import { readProjects } from './read.ts'
import { makePage } from './report-thread.ts'
import { sweepDrafts, writeWholeFile } from './write-file.ts'

export interface ReportSettings {
  /** Made when it is not there. */
  readonly folder: string
  /** Before the name of the project. */
  readonly title: string | null
  /** A file beside the title of every page. */
  readonly logo: string | null
}

/** Longest name that every file system takes, less what `writeWholeFile` adds. */
const LONGEST_NAME_BYTES = 200
/** The stamp stands in the head of a page. */
const HEAD_BYTES = 4096

/**
 * @param over when no further page is begun: each takes a second, and there may be thousands of projects
 * @returns projects whose page was written, those of which something is under way, and how many are left for
 *   the next time, which begins with them
 * @throws ConfigurationError when the folder cannot be written or the logo is none; when pages could not be
 *   made or written, what kept the first of them, after the others were written
 */
export async function writeReports(
  db: Database,
  { folder, title, logo: logoFile }: ReportSettings,
  signal: AbortSignal,
  over?: AbortSignal,
) {
  await requireFolder(folder)
  await sweepDrafts(folder, Date.now())
  const logo = logoFile === null ? {} : { logoUrl: await readLogo(logoFile) }
  const written: string[] = []
  const waiting: string[] = []
  const failures: unknown[] = []
  const projects = await sortByPage(folder, await readProjects(db))
  for (const [n, project] of projects.entries()) {
    signal.throwIfAborted()
    if (over?.aborted) return { written, waiting, left: projects.length - n }
    const { isUnderWay, latest } = await readState(db, project)
    if (isUnderWay) {
      waiting.push(project)
      continue
    }
    const stamp = hash([latest, packageJson.version, title ?? '', logo.logoUrl ?? ''].join('\n'))
    const file = join(folder, nameFile(project))
    if (latest === '' || (await readStamp(file)) === stamp) continue
    try {
      const page = await makePage(
        db,
        { project },
        { stamp, title: nameReport(title, project), ...logo },
        signal,
      )
      await writeWholeFile(file, page, 'of folder')
      written.push(project)
    } catch (error) {
      signal.throwIfAborted()
      failures.push(error)
    }
  }
  if (failures.length > 0) throw failures[0]
  return { written, waiting }
}

function nameReport(title: string | null, project: string): string {
  return title === null ? project : `${title} · ${project}`
}

/** Those without a page first, then those with the oldest. */
async function sortByPage(folder: string, projects: readonly string[]): Promise<string[]> {
  const aged = await Promise.all(
    projects.map(async (project) => {
      const page = await stat(join(folder, nameFile(project))).catch(() => null)
      return { project, writtenMs: page?.mtimeMs ?? 0 }
    }),
  )
  return aged.toSorted((a, b) => a.writtenMs - b.writtenMs).map(({ project }) => project)
}

/** What is under way of a slot that is over holds no page up; `latest` changes with any target's slot. */
async function readState({ sql }: Pick<Database, 'sql'>, project: string) {
  const rows = await sql<{ isUnderWay: boolean; latest: string }[]>`
    with target as (
      select distinct target_id from watch_period where project = ${project} and ended_at is null
        and target_id is not null
    )
    select exists (
      select from task k join target t using (target_id)
      where k.attempt > 0 and k.state in ('planned', 'posting', 'posted') and k.slot_ends_at > storerank_now()
    ) as "isUnderWay", coalesce((
      select md5(string_agg(concat_ws(' ', t.target_id, h.slot, h.captured_at, h.gap),
        ',' order by t.target_id))
      from target t
      cross join lateral (
        (select slot, captured_at, gap from ranking_row where target_id = t.target_id
          order by slot desc limit 1)
        union all
        (select slot, captured_at, gap from app_snapshot where target_id = t.target_id
          order by slot desc limit 1)
      ) h
    ), '') as latest`
  return oneRow(rows)
}

async function requireFolder(folder: string): Promise<void> {
  let wanted = 'made'
  try {
    const isThere = existsSync(folder)
    await makeFolder(folder)
    // It is there for whoever serves it, whatever the umask says; its mode is then a person's.
    if (!isThere) await chmod(folder, 0o755)
    wanted = 'written'
    await access(folder, constants.W_OK)
  } catch (error) {
    throw new ConfigurationError(`REPORT_DIR cannot be ${wanted}: ${whyNot(error)}.`, { cause: error })
  }
}

/** The project's name as every file system takes it: other letters as hexadecimal digits of their bytes. */
export function nameFile(project: string): string {
  const toDigits = (letter: string) => `%${Buffer.from(letter).toString('hex')}`
  const safe = project.replace(/[^\p{L}\p{M}\p{N} _.-]|^\./gu, toDigits)
  const bytes = Buffer.from(safe)
  if (bytes.length <= LONGEST_NAME_BYTES) return `${safe}.html`
  const start = new TextDecoder().decode(bytes.subarray(0, LONGEST_NAME_BYTES)).replace(/\ufffd+$/, '')
  return `${start}-${hash(project).slice(0, 8)}.html`
}

/** The stamp of the page that is there; null when there is none. */
async function readStamp(file: string): Promise<string | null> {
  try {
    await using handle = await open(file)
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0)
    const head = buffer.toString('utf8', 0, bytesRead)
    return /<meta name="storerank-stamp" content="(\w+)">/.exec(head)?.[1] ?? null
  } catch {
    return null
  }
}

function hash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32)
}
