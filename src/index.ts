/** The App Data Service client as a library: `import { AppDataClient } from 'storerank'`. */

export {
  AccountError,
  ConfigurationError,
  RateLimitedError,
  RejectedError,
  StorerankError,
  UnavailableError,
  UnreadableError,
} from './errors.ts'
export type { PriceEntry, UsagePeriod, UsageTable, UserData } from './service/account.ts'
export { decideRetry, type EnvelopeHead, type Failure, type RetryDecision } from './service/answer.ts'
export { AppDataClient } from './service/client.ts'
export {
  billingUnits,
  FUNCTION_RULES,
  type FunctionRule,
  type Priority,
  type ResultForm,
  type ServiceFunction,
  type Store,
} from './service/functions.ts'
export type { RefusedItem } from './service/items.ts'
export {
  type Listing,
  type ListingOutcome,
  type ListingQuery,
  type ListingSearchResult,
  parseListingResult,
} from './service/listings.ts'
export {
  type ApiStatus,
  type FailedTask,
  type FailedTaskQuery,
  type Language,
  type ListingCategory,
  type Location,
  MAX_FAILED_TASK_ROWS,
  MAX_IDS_PER_RESEND,
  type ResendAnswer,
  type ServiceErrorCode,
} from './service/lists.ts'
export { MAX_TASKS_PER_POST, type PostOutcome, type TaskAnswer } from './service/post-tasks.ts'
export {
  type AppInfo,
  type AppInfoItem,
  type AppInfoResult,
  type AppReviewsResult,
  type HtmlPage,
  type HtmlResult,
  type InfoResult,
  type LinkedApp,
  type Price,
  parseAppInfoResult,
  parseHtmlResult,
  parseInfoResult,
  parseReviewsResult,
  type Rating,
  type Review,
  type ReviewResponse,
} from './service/results.ts'
export {
  type AppListResult,
  type AppSearchesResult,
  type ListedNumbers,
  parseAppListResult,
  parseAppSearchesResult,
  parseSearchResult,
  type RankedApp,
  type RankedItem,
  type SearchResult,
} from './service/search-result.ts'
export { classifyCall, classifyStatus, type StatusClass } from './service/status-codes.ts'
export { type ListEnd, MAX_TASK_ID_ROWS, type TaskIdQuery, type TaskIdRow } from './service/task-ids.ts'
export {
  MAX_READY_ROWS,
  type ReadyList,
  type ReadyRow,
  type ResultAddress,
  type ResultOutcome,
  readPostback,
  type TaskAddress,
  type TaskEcho,
  type TaskOutcome,
} from './service/task-result.ts'
export type { TaskToPost } from './service/task-rules.ts'
export type {
  AnswerHead,
  CallGate,
  CallKind,
  CallOutcome,
  CallPermit,
  Clock,
  SendWindow,
  TransportOptions,
} from './service/transport.ts'
