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
export { AppDataClient } from './service/client.ts'
export type { Clock } from './service/clock.ts'
export type { ApiStatus, ServiceErrorCode } from './service/diagnostics.ts'
export type { EnvelopeHead } from './service/envelope.ts'
export { type FailedTask, type FailedTaskQuery, MAX_FAILED_TASK_ROWS } from './service/failed-tasks.ts'
export {
  billingUnits,
  FUNCTION_RULES,
  type FunctionRule,
  type Priority,
  type ResultForm,
  type ServiceFunction,
  type Store,
} from './service/functions.ts'
export {
  type Listing,
  type ListingOutcome,
  type ListingQuery,
  type ListingSearchResult,
  parseListingResult,
} from './service/listings.ts'
export {
  MAX_TASKS_PER_POST,
  type PostOutcome,
  type TaskAnswer,
  type TaskToPost,
} from './service/post-tasks.ts'
export { readPostback } from './service/postback.ts'
export { MAX_READY_ROWS, type ReadyList, type ReadyRow } from './service/ready-list.ts'
export type { Language, ListingCategory, Location } from './service/references.ts'
export * from './service/results.ts'
export { decideRetry, type Failure, type RetryDecision } from './service/retry.ts'
export { classifyCall, classifyStatus, type StatusClass } from './service/status-codes.ts'
export { type ListEnd, MAX_TASK_ID_ROWS, type TaskIdQuery, type TaskIdRow } from './service/task-ids.ts'
export type { TaskEcho, TaskOutcome } from './service/task-outcome.ts'
export type { ResultAddress, ResultOutcome, TaskAddress } from './service/task-result.ts'
export type {
  AnswerHead,
  CallGate,
  CallKind,
  CallOutcome,
  CallPermit,
  SendWindow,
  TransportOptions,
} from './service/transport.ts'
export { MAX_IDS_PER_RESEND, type ResendAnswer } from './service/webhooks.ts'
