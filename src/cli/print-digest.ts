/** The latest day of a project on the terminal. */
import { toPrintable } from '../log.ts'
import type { Digest, DigestMove } from '../report/digest.ts'
import { drawSparkline } from '../report/sparkline.ts'
import {
  formatChange,
  formatCount,
  formatDay,
  formatDifference,
  formatDollars,
  formatPercent,
  GAP_NAMES,
  STORE_NAMES,
} from '../report/words.ts'
import { drawTable, wrapToWidth } from './print.ts'

const MOVES_SHOWN = 10
const REASONS_SHOWN = 10
const SPARKLINE_WIDTH = 30
/** On a terminal that is narrower than such a table with a long course. */
const SHORT_SPARKLINE_WIDTH = 8
const WIDE_TERMINAL = 120

/** A text in the making, and how many columns its lines may have. */
interface Paper {
  readonly width: number
  text: string
}

/** @param width of the terminal in columns; infinite elsewhere */
export function drawDigest(digest: Digest, width: number): string {
  const output: Paper = { width, text: '' }
  const tag = digest.tag === null ? '' : `, tag ${digest.tag}`
  const since = `${formatDay(digest.from)} to ${formatDay(digest.to)}`
  say(output, `\n${digest.project}${tag}, ${since}`)
  say(output, '')
  for (const { about, text } of digest.findings) say(output, `${about}: ${text}`)
  drawMoves('Up since the day before', digest.up, output)
  drawMoves('Down since the day before', digest.down, output)
  drawMoves('Came into the top 10 since the day before', digest.entered, output)
  drawMoves('Left the top 10 since the day before', digest.left, output)
  drawReasons(digest, output)
  drawVisibility(digest, output)
  drawVoice(digest, output)
  drawMoney(digest, output)
  return output.text
}

function say(output: Paper, text: string): void {
  output.text += `${wrapToWidth(toPrintable(text), output.width)}\n`
}

function drawMoves(title: string, moves: readonly DigestMove[], output: Paper): void {
  if (moves.length === 0) return
  say(output, `\n${title} (${formatCount(moves.length)})`)
  const rows = moves.slice(0, MOVES_SHOWN).map((move) => ({
    keyword: move.keyword,
    where: `${nameStore(move.store)} ${move.place}`,
    app: move.app,
    before: move.beforeText,
    now: move.text,
    change: formatChange(move),
  }))
  const texts = ['keyword', 'where', 'app'].map((key) => ({ key }))
  const numbers = ['before', 'now', 'change'].map((key) => ({ key, align: 'right' as const }))
  output.text += drawTable(rows, [...texts, ...numbers], output.width)
  if (moves.length > MOVES_SHOWN) say(output, `… and ${formatCount(moves.length - MOVES_SHOWN)} more`)
}

function nameStore(store: string): string {
  return STORE_NAMES[store as keyof typeof STORE_NAMES] ?? store
}

function drawReasons({ reasons }: Digest, output: Paper): void {
  if (reasons.length === 0) return
  say(output, '\nNot measured on the last day')
  const rows = reasons.slice(0, REASONS_SHOWN).map(({ gap, slots, reason, examples }) => ({
    why: GAP_NAMES[gap],
    slots,
    reason: reason ?? '',
    'for example': examples.join(', ') + (slots > examples.length ? ', …' : ''),
  }))
  output.text += drawTable(
    rows,
    ['why', 'slots', 'reason', 'for example'].map((key) => ({ key })),
    output.width,
  )
  if (reasons.length > REASONS_SHOWN) say(output, `… and ${formatCount(reasons.length - REASONS_SHOWN)} more`)
}

function drawVisibility({ visibility }: Digest, output: Paper): void {
  if (visibility.length === 0) return
  say(output, '\nVisibility (100 % is first on every keyword; each rank counts 1/rank × weight)')
  const width = output.width < WIDE_TERMINAL ? SHORT_SPARKLINE_WIDTH : SPARKLINE_WIDTH
  const rows = visibility.map((line) => ({
    app: line.app,
    store: nameStore(line.store),
    role: line.role,
    visible: formatPercent(line.percent),
    '7 days': line.changeInWeek === null ? '–' : formatDifference(line.changeInWeek),
    on: line.due === 0 ? '–' : `${formatCount(line.compared)} of ${formatCount(line.due)}`,
    measured: formatPercent(line.measuredPercent),
    course: drawSparkline(line.course, width),
  }))
  const texts = ['app', 'store', 'role'].map((key) => ({ key }))
  const numbers = ['visible', '7 days', 'on', 'measured'].map((key) => ({ key, align: 'right' as const }))
  output.text += drawTable(rows, [...texts, ...numbers, { key: 'course' }], output.width)
}

function drawVoice({ shareOfVoice }: Digest, output: Paper): void {
  if (shareOfVoice.length === 0) return
  for (const [store, shares] of Map.groupBy(shareOfVoice, (share) => share.store)) {
    const texts = shares.map(({ app, percent }) => `${app ?? 'all others'} ${formatPercent(percent)}`)
    say(output, `\nShare of voice, ${nameStore(store)}: ${texts.join(', ')}`)
  }
}

function drawMoney({ money, from }: Digest, output: Paper): void {
  const reserved = money.reservedMicros > 0 ? `, and ${formatDollars(money.reservedMicros)} reserved` : ''
  const since = `${formatDollars(money.spentInAllMicros)} since ${formatDay(from)}`
  say(output, `\nSpent ${formatDollars(money.spentMicros)} on the last day, ${since}${reserved}`)
  for (const { period, limitMicros, usedMicros } of money.budgets) {
    const percent = limitMicros === 0 ? 100 : Math.round((100 * usedMicros) / limitMicros)
    say(output, `  of ${formatDollars(limitMicros)} a ${period}: ${formatDollars(usedMicros)}, ${percent} %`)
  }
}
