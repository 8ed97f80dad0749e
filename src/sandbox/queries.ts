/**
 * The two lists that take a query: a query that breaks a rule is a task answer with 40501 and the name of its
 * field.
 */

import type { z } from 'zod'
import { invalidField, type TaskAnswer } from './envelope.ts'
import { isRecord } from './posting.ts'

/** `findInvalidField` has the rules that go by the present. */
export const answerQuery = <Query>(
  { name, id }: { name: string; id: string },
  schema: z.ZodType<Query>,
  body: unknown,
  findInvalidField: (query: Query) => string | undefined,
  list: (query: Query) => readonly unknown[],
): TaskAnswer => {
  const answer = { id, data: { api: 'app_data', function: name, ...(isRecord(body) && body) } }
  const { data: query, error } = schema.safeParse(body)
  const invalid = query === undefined ? String(error?.issues[0]?.path[0] ?? 'task') : findInvalidField(query)
  return query === undefined || invalid !== undefined
    ? { ...answer, ...invalidField(String(invalid)) }
    : { ...answer, code: 20000, result: list(query) }
}
