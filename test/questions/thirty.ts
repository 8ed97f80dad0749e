/**
 * The questions of a week, by somebody who does the job with the tools that people pay for, each with how it
 * is asked and the answer that the stored month gives by hand.
 */
import type { Question } from './month.ts'
import { OF_RANKS } from './of-ranks.ts'
import { OF_THE_MARKET } from './of-the-market.ts'

export const QUESTIONS: readonly Question[] = [...OF_RANKS, ...OF_THE_MARKET]
