/**
 * The page docs/questions.md, of which each chapter of the third level is a question, with its query and,
 * below it, the answer of the demo.
 */
import type postgres from 'postgres'

/** A chapter: what stands up to the end of its query, the query, and the answer that it has now. */
const CHAPTER = /(### [^\n]+\n(?:(?!^#|^```)[^\n]*\n)*```sql\n(.*?)\n```\n)(.*?)(?=^#|$(?![\s\S]))/gms

export interface Question {
  readonly title: string
  readonly query: string
  readonly answer: string
}

export function readQuestions(page: string): Question[] {
  return [...page.matchAll(CHAPTER)].map(([, head = '', query = '', answer = '']) => ({
    title: /^### (.*)/.exec(head)?.[1] ?? '',
    query,
    answer: answer.trim(),
  }))
}

/** The page with the answers of a database, asked as a person who may only read. */
export async function answerQuestions(page: string, sql: postgres.Sql): Promise<string> {
  const answers = new Map<string, string>()
  await sql.begin(async (tx) => {
    await tx`set local role storerank_reader`
    await tx`set local datestyle = 'ISO'`
    for (const { title, query } of readQuestions(page)) {
      try {
        answers.set(query, drawAnswer(await tx.unsafe(query)))
      } catch (error) {
        throw new Error(`The question ${JSON.stringify(title)} has no answer: ${(error as Error).message}`)
      }
    }
  })
  return page
    .replace(CHAPTER, (_, head: string, query: string) => `${head}\n${answers.get(query)}\n\n`)
    .trimEnd()
    .concat('\n')
}

function drawAnswer(rows: postgres.RowList<postgres.Row[]>): string {
  if (rows.length === 0) return 'None.'
  const keys = rows.columns.map(({ name }) => name)
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  return [
    line(keys),
    line(keys.map((key) => (rows.every((row) => isNumber(row[key])) ? '---:' : '---'))),
    ...rows.map((row) => line(keys.map((key) => showCell(row[key])))),
  ].join('\n')
}

const isNumber = (value: unknown) => value === null || /^-?\d+(\.\d+)?$/.test(String(value))

function showCell(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (value instanceof Date) return value.toISOString().slice(0, 10)
  if (Array.isArray(value)) return value.join(', ')
  return String(value).replaceAll('|', '\\|').replaceAll('\n', ' ')
}
