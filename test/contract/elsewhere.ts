/** Rows of docs/service.md whose ends, beyond the client, are tested where they happen: by file. */

import { coversElsewhere } from './covers.ts'

const ELSEWHERE: Readonly<Record<string, readonly (readonly [row: string, test: string])[]>> = {
  'test/collect/enqueue-results.test.ts': [
    [
      'tasks_ready_and_task_get_of_ios_store_app_searches',
      'say where a result is fetched, and that path is followed',
    ],
  ],
  'test/collect/fetch.test.ts': [
    [
      'asked_for_after_retention',
      'whose result has expired fails with that reason, and is never bought again',
    ],
    ['40101_and_40102', 'that the store failed is posted again, each attempt in the ledger, until the last'],
  ],
  'test/history/captures.test.ts': [
    ['tasks_error_cost_tasks_count', 'are not taken from the cost that a result names'],
    ['refunds', 'leave what the service charged, for any keyword, depth and priority in both stores'],
  ],
  'test/history/pages.test.ts': [
    [
      'advanced_results_of_android_store',
      'what is offered as raw pages only is kept, and measured as html_only',
    ],
  ],
  'test/ledger/task-failures.test.ts': [
    [
      'retention_of_advanced_app_searches_and_app_list',
      'a result that the service keeps no longer is given up, and its slot says the last answer',
    ],
  ],
  'test/plan/budget.test.ts': [
    ['day_of_the_limits', 'forgets at 00:00 UTC what it had spent the day before'],
  ],
  'test/post/minute-budget.test.ts': [
    ['per_minute_spending_limits', 'parts a post: what fits is sent, the rest is packed again'],
  ],
  'test/post/reconcile.test.ts': [
    [
      'server_trouble',
      'is given back after two scans, the second after the quiet time, and then posted once',
    ],
  ],
  'test/post/settle.test.ts': [
    ['account', 'for a wrong password is an error of the account, and nothing is lost'],
    ['invalid_task_in_a_batch', 'an invalid task fails alone at the service too'],
    ['missing_or_additional_answers', 'what has no answer is unknown, and keeps its money'],
  ],
  'test/service/endpoints.test.ts': [
    [
      'tasks_ready_and_task_get_of_ios_store_app_searches',
      'drops and counts rows that lead elsewhere or nowhere',
    ],
  ],
  'test/service/search-result.test.ts': [
    ['app_searches_advanced_result', 'an app that comes twice keeps its best rank'],
    [
      'app_searches_advanced_result',
      'numbers may be strings, an app id may be a number, and optional fields may be missing',
    ],
  ],
}

for (const [file, rows] of Object.entries(ELSEWHERE)) {
  for (const [row, name] of rows) coversElsewhere(`notes.${row}`, file, name)
}
