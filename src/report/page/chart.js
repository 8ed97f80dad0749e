// @ts-check
/**
 * Charts by day as SVG: the server draws them into the page, and the page's own script those of single
 * keywords. Colours come from the page's style by class.
 *
 * @import { Drawn, Frame, RankLine, ValueLine } from './drawing.ts'
 * @import { PlacedMark } from './captions.js'
 *
 * @typedef {Omit<Frame, 'marks'> & Area & { marks: readonly PlacedMark[] }} Plot
 * @typedef {{ left: number, step: number, top: number, bottom: number }} Area
 * @typedef {{ from: number, to: number, at: (value: number) => number }} Scale
 */
import { nice, ticks } from 'd3-array'
import { line } from 'd3-shape'
import { shortDay } from '../../text/days.js'
import { element, NUMBER_HEIGHT, placeMarks } from './captions.js'

const LEFT = 46
const RIGHT = 22
const TOP = 12
const MARK_ROW = NUMBER_HEIGHT + 3
const BOTTOM = 26
const RAIL_ROW = 9
const LABEL_WIDTH = 64
const WIDEST_BAR = 48

/**
 * Lines over the days, broken at gaps, on an axis that begins at `lowest`.
 * @type {(frame: Frame, lines: readonly ValueLine[], lowest?: number) => Drawn}
 */
export const drawLines = (frame, lines, lowest = 0) => {
  const plot = layOut(frame, BOTTOM)
  const highest = Math.max(...lines.flatMap(known), lowest)
  const y = scale(nice(lowest, highest > lowest ? highest : lowest + 1, 4), [plot.bottom, plot.top])
  return drawFrame(plot, [
    ...drawBands(plot),
    ...drawValueAxis(plot, y, ticks(y.from, y.to, 4)),
    ...drawMarks(plot),
    ...lines.flatMap((each) => drawLine(plot, each, y)),
  ])
}

/**
 * A bar for each day, its layers from below; a day of nulls has none. The axis shows `highest` at least.
 * @type {(frame: Frame, layers: readonly ValueLine[], highest?: number) => Drawn}
 */
export const drawStack = (frame, layers, highest = 0) => {
  const plot = layOut(frame, BOTTOM)
  const totals = frame.days.map((_, day) => layers.reduce((sum, { values }) => sum + (values[day] ?? 0), 0))
  const top = Math.max(...totals, highest) || 1
  const y = scale([0, top], [plot.bottom, plot.top])
  // What has no unit is counted, and there is no half of it.
  const fitsUnit = (/** @type {number} */ tick) => Boolean(frame.unit) || Number.isInteger(tick)
  const heights = frame.days.map(() => 0)
  const bars = layers.map(({ className, values }) => {
    const path = values.map((value, day) => {
      const from = heights[day] ?? 0
      heights[day] = from + (value ?? 0)
      return value ? drawBar(plot, day, y.at(from), y.at(from + value)) : ''
    })
    return element('path', { class: `bar ${className}`, d: path.join('') })
  })
  const axis = drawValueAxis(plot, y, ticks(0, top, 4).filter(fitsUnit))
  return drawFrame(plot, [...drawBands(plot), ...axis, ...bars, ...drawMarks(plot)])
}

/**
 * Ranks over the days, the best on top, the axis fitted to what there is. Days without a measurement are
 * bands, and what was not within depth stands on a rail below the plot, a row for each app.
 * @type {(frame: Frame, lines: readonly RankLine[], beyond: string) => Drawn}
 */
export const drawRanks = (frame, lines, beyond) => {
  const onRail = lines.filter(({ absent }) => absent.includes(true))
  const railHeight = onRail.length === 0 ? 0 : onRail.length * RAIL_ROW + 8
  const plot = layOut(frame, BOTTOM + railHeight)
  const ranks = lines.flatMap(known)
  const y = scale(fitRanks(ranks), [plot.top, plot.bottom])
  const whole = ticks(y.from, y.to, 5).filter((tick) => Number.isInteger(tick) && tick >= 1)
  const first = y.from < 1 && !whole.includes(1) ? [1] : []
  return drawFrame(plot, [
    ...(railHeight === 0 ? [] : drawRail(plot, railHeight, beyond)),
    ...drawBands(plot, railHeight),
    ...(ranks.length === 0 ? [] : drawValueAxis(plot, y, [...first, ...whole])),
    ...drawMarks(plot),
    ...onRail.map((each, row) => drawRailRow(plot, each, plot.bottom + 8 + row * RAIL_ROW)),
    ...lines.flatMap((each) => drawLine(plot, each, y)),
  ])
}

const SPARK = { width: 96, height: 22 }

/** A series so small that it stands in a table: no axis, no words. @param {ValueLine['values']} values */
export function drawSpark(values) {
  const { width, height } = SPARK
  const plot = { left: 2, step: (width - 4) / values.length, top: 3, bottom: height - 3 }
  const spark = { className: 'own0', values }
  const y = scale(fitRanks(known(spark)), [plot.top, plot.bottom])
  const box = { class: 'spark', viewBox: `0 0 ${width} ${height}`, ...SPARK, 'aria-hidden': 'true' }
  return element('svg', box, drawLine(plot, spark, y))
}

/** @param {ValueLine} line */
function known({ values }) {
  return values.filter((value) => value !== null)
}

/** Marks come on top of the height of the frame. @type {(frame: Frame, below: number) => Plot} */
const layOut = (frame, below) => {
  const { days, width, marks = [] } = frame
  const step = (width - LEFT - RIGHT) / days.length
  const placed = placeMarks(marks, (day) => xOf({ left: LEFT, step }, day))
  const top = TOP + Math.max(0, ...placed.map(({ row }) => row + 1)) * MARK_ROW
  const height = frame.height - TOP + top
  return { ...frame, left: LEFT, step, top, bottom: height - below, height, marks: placed }
}

/** The middle of a day. @param {Pick<Area, 'left' | 'step'>} plot @param {number} day */
function xOf(plot, day) {
  return round(plot.left + (day + 0.5) * plot.step)
}

/** @type {(domain: readonly number[], range: readonly number[]) => Scale} */
const scale = ([from = 0, to = 1], [start = 0, end = 1]) => ({
  ...{ from, to },
  at: (value) => round(start + ((value - from) / (to - from)) * (end - start)),
})

/** Room above and below, so that a flat line is in the middle. @param {readonly number[]} ranks */
function fitRanks(ranks) {
  if (ranks.length === 0) return [0, 1]
  const best = Math.min(...ranks)
  const worst = Math.max(...ranks)
  const room = Math.max((worst - best) * 0.08, (4 - (worst - best)) / 2, 0.6)
  return [Math.max(best - room, 0.4), worst + room]
}

/** @type {(plot: Plot, content: readonly Drawn[]) => Drawn} */
const drawFrame = (plot, content) => {
  const { label, width, height, days, left, step, top, bottom } = plot
  const attributes = {
    ...{ class: 'chart', role: 'img', 'aria-label': label, viewBox: `0 0 ${width} ${height}` },
    ...{ 'data-left': left, 'data-step': step, 'data-top': top, 'data-bottom': bottom },
  }
  const every = Math.max(1, Math.ceil((LABEL_WIDTH * days.length) / (width - LEFT - RIGHT)))
  const dayLabels = days.flatMap((day, n) =>
    (days.length - 1 - n) % every === 0 ? [write('axis day', xOf(plot, n), height - 8, shortDay(day))] : [],
  )
  return element('svg', attributes, [element('title', {}, [label]), ...content, ...dayLabels])
}

/** @param {Plot} plot @param {Scale} y @param {readonly number[]} at */
function drawValueAxis({ width, unit = '' }, y, at) {
  return at.flatMap((tick) => [
    element('path', { class: 'grid', d: `M${LEFT},${y.at(tick)}H${width - RIGHT}` }),
    write('axis value', LEFT - 8, y.at(tick) + 4, formatTick(tick, unit)),
  ])
}

/** @param {number} tick @param {string} unit */
function formatTick(tick, unit) {
  if (unit !== '$') return `${tick.toLocaleString('en-US')}${unit}`
  return `$${tick.toLocaleString('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 6 })}`
}

/**
 * A line through neighbouring days, and a dot where a day has no neighbour.
 * @param {Area} plot @param {ValueLine} line @param {Scale} y
 */
function drawLine(plot, { className, values }, y) {
  const path = line()
    .defined(([, value]) => value !== null)
    .x(([day]) => xOf(plot, day))
    .y(([, value]) => y.at(value))
  const points = /** @type {[number, number][]} */ ([...values.entries()])
  const lonely = points.flatMap(([day, value]) =>
    value !== null && (values[day - 1] ?? null) === null && (values[day + 1] ?? null) === null
      ? [`M${xOf(plot, day)},${y.at(value)}h0`]
      : [],
  )
  return [
    element('path', { class: `line ${className}`, d: path(points) ?? '' }),
    ...(lonely.length === 0 ? [] : [element('path', { class: `dot ${className}`, d: lonely.join('') })]),
  ]
}

/** @param {Plot} plot @param {number} day @param {number} from @param {number} to */
function drawBar(plot, day, from, to) {
  const width = Math.min(round(plot.step * (plot.step > 4 ? 0.84 : 1)), WIDEST_BAR)
  return `M${round(xOf(plot, day) - width / 2)},${from}h${width}V${to}h${-width}z`
}

/** @param {Plot} plot @param {number} [below] */
function drawBands({ bands = [], left, step, top, bottom }, below = 0) {
  return bands.flatMap((className, day) => {
    if (className === null) return []
    const box = { x: round(left + day * step), y: top, width: round(step), height: bottom + below - top }
    return [element('rect', { class: `band ${className}`, ...box })]
  })
}

/** @param {Plot} plot @param {number} height @param {string} beyond what stands before the rail */
function drawRail({ width, bottom }, height, beyond) {
  const box = { x: LEFT, y: bottom + 3, width: width - LEFT - RIGHT, height: height - 4 }
  return [
    element('rect', { class: 'rail', ...box }),
    write('axis value', LEFT - 8, round(bottom + height / 2 + 4), beyond),
  ]
}

/** @param {Plot} plot @param {RankLine} line @param {number} y */
function drawRailRow(plot, { className, absent }, y) {
  // One stroke for days that follow each other, so that none shows a seam.
  const path = absent.map((isAbsent, day) => {
    if (!isAbsent || absent[day - 1]) return ''
    const next = absent.indexOf(false, day)
    const length = (next === -1 ? absent.length : next) - day
    return `M${round(plot.left + day * plot.step)},${y}h${round(length * plot.step)}`
  })
  return element('path', { class: `absent ${className}`, d: path.join('') })
}

/** A stroke for each day with marks, and its number above, in front of all strokes. @param {Plot} plot */
function drawMarks({ marks, top, bottom }) {
  const baseOf = (/** @type {PlacedMark} */ { row }) => top - 4 - row * MARK_ROW
  return [
    ...marks.map((mark) =>
      element('path', { class: `mark ${mark.className}`, d: `M${mark.x},${baseOf(mark)}V${bottom}` }),
    ),
    ...marks.flatMap((mark) => {
      const { x, width } = mark
      const box = { x: round(x - width / 2), y: baseOf(mark) - NUMBER_HEIGHT, width, height: NUMBER_HEIGHT }
      return [
        element('rect', { class: `mark-number ${mark.className}`, ...box, rx: NUMBER_HEIGHT / 2 }),
        write('mark-text', x, baseOf(mark) - 4, String(mark.number)),
      ]
    }),
  ]
}

/** @param {string} className @param {number} x @param {number} y @param {string} text */
function write(className, x, y, text) {
  return element('text', { class: className, x, y }, [text])
}

/** @param {number} value */
function round(value) {
  return Math.round(value * 10) / 10
}
