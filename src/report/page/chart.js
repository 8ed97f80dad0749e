// @ts-check
/**
 * Charts by day as SVG. The server writes them into the page, and the page's own script draws those of single
 * keywords, so that this file imports no library: shapes and scales are d3's, which the pen brings. Colours
 * come from the page's style by class.
 *
 * @import { Frame, Pen, RankLine, ValueLine } from './drawing.ts'
 * @import { PlacedMark } from './marks.js'
 */

import { shortDay } from '../../text/days.js'
import { NUMBER_HEIGHT, placeMarks } from './marks.js'

const LEFT = 46
const RIGHT = 22
const TOP = 12
const MARK_ROW = NUMBER_HEIGHT + 3
const BOTTOM = 26
const RAIL_ROW = 9
const LABEL_WIDTH = 64
const WIDEST_BAR = 48

/**
 * Lines over the days, broken at gaps, from 0 up.
 *
 * @template Drawn
 * @param {Pen<Drawn>} pen
 * @param {Frame} frame
 * @param {readonly ValueLine[]} lines
 * @param {number} [lowest] where the axis begins
 * @returns {Drawn}
 */
export function drawLines(pen, frame, lines, lowest = 0) {
  const plot = layOut(frame, BOTTOM)
  const highest = Math.max(...lines.flatMap(({ values }) => values.filter((value) => value !== null)), lowest)
  const y = scale(pen.nice(lowest, highest > lowest ? highest : lowest + 1, 4), [plot.bottom, plot.top])
  return drawFrame(pen, frame, plot, [
    ...drawBands(pen, frame, plot, 0),
    ...drawValueAxis(pen, frame, y, pen.ticks(y.from, y.to, 4)),
    ...drawMarks(pen, plot),
    ...lines.flatMap(({ className, values }) => drawLine(pen, plot, className, values, y.at)),
  ])
}

/**
 * A bar for each day, its layers from below; a day of nulls has none.
 *
 * @template Drawn
 * @param {Pen<Drawn>} pen
 * @param {Frame} frame
 * @param {readonly ValueLine[]} layers
 * @param {number} [highest] the least that the axis shows
 * @returns {Drawn}
 */
export function drawStack(pen, frame, layers, highest = 0) {
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
    return pen.element('path', { class: `bar ${className}`, d: path.join('') })
  })
  return drawFrame(pen, frame, plot, [
    ...drawBands(pen, frame, plot, 0),
    ...drawValueAxis(pen, frame, y, pen.ticks(0, top, 4).filter(fitsUnit)),
    ...bars,
    ...drawMarks(pen, plot),
  ])
}

/**
 * Ranks over the days, the best on top, the axis fitted to what there is. Days without a measurement are
 * bands, and what was not within depth stands on a rail below the plot, a row for each app.
 *
 * @template Drawn
 * @param {Pen<Drawn>} pen
 * @param {Frame} frame
 * @param {readonly RankLine[]} lines
 * @param {string} beyond what stands before the rail
 * @returns {Drawn}
 */
export function drawRanks(pen, frame, lines, beyond) {
  const onRail = lines.filter(({ absent }) => absent.includes(true))
  const railHeight = onRail.length === 0 ? 0 : onRail.length * RAIL_ROW + 8
  const plot = layOut(frame, BOTTOM + railHeight)
  const ranks = lines.flatMap(({ values }) => values.filter((value) => value !== null))
  const y = scale(fitRanks(ranks), [plot.top, plot.bottom])
  const ticks = pen.ticks(y.from, y.to, 5).filter((tick) => Number.isInteger(tick) && tick >= 1)
  const first = y.from < 1 && !ticks.includes(1) ? [1] : []
  const rows = onRail.map(({ className, absent }, row) =>
    drawRailRow(pen, plot, className, absent, plot.bottom + 8 + row * RAIL_ROW),
  )
  return drawFrame(pen, frame, plot, [
    ...(railHeight === 0 ? [] : drawRail(pen, frame, plot, railHeight, beyond)),
    ...drawBands(pen, frame, plot, railHeight),
    ...(ranks.length === 0 ? [] : drawValueAxis(pen, frame, y, [...first, ...ticks])),
    ...drawMarks(pen, plot),
    ...rows,
    ...lines.flatMap(({ className, values }) => drawLine(pen, plot, className, values, y.at)),
  ])
}

/**
 * A series so small that it stands in a table: no axis, no words.
 *
 * @template Drawn
 * @param {Pen<Drawn>} pen
 * @param {readonly (number | null)[]} ranks
 * @param {{ width: number, height: number }} size
 * @returns {Drawn}
 */
export function drawSpark(pen, ranks, { width, height }) {
  const plot = { left: 2, step: (width - 4) / ranks.length, top: 3, bottom: height - 3, height, marks: [] }
  const y = scale(fitRanks(ranks.filter((rank) => rank !== null)), [plot.top, plot.bottom])
  const attributes = {
    class: 'spark',
    viewBox: `0 0 ${width} ${height}`,
    width,
    height,
    'aria-hidden': 'true',
  }
  return pen.element('svg', attributes, drawLine(pen, plot, 'own0', ranks, y.at))
}

/**
 * @typedef {{ left: number, step: number, top: number, bottom: number }} Area
 * @typedef {Area & { height: number, marks: readonly PlacedMark[] }} Plot
 * @typedef {{ from: number, to: number, at: (value: number) => number }} Scale
 */

/**
 * The rows of the marks come on top of the height of the frame.
 *
 * @param {Frame} frame
 * @param {number} below
 * @returns {Plot}
 */
function layOut({ days, width, height, marks = [] }, below) {
  const step = (width - LEFT - RIGHT) / days.length
  const placed = placeMarks(marks, (day) => xOf({ left: LEFT, step }, day))
  const top = TOP + Math.max(0, ...placed.map(({ row }) => row + 1)) * MARK_ROW
  const whole = height - TOP + top
  return { left: LEFT, step, top, bottom: whole - below, height: whole, marks: placed }
}

/** The middle of a day. @param {Pick<Plot, 'left' | 'step'>} plot @param {number} day */
function xOf(plot, day) {
  return round(plot.left + (day + 0.5) * plot.step)
}

/**
 * @param {readonly number[]} domain
 * @param {readonly number[]} range
 * @returns {Scale}
 */
function scale([from = 0, to = 1], [start = 0, end = 1]) {
  return { from, to, at: (value) => round(start + ((value - from) / (to - from)) * (end - start)) }
}

/** Room above and below, so that a flat line is in the middle. @param {readonly number[]} ranks */
function fitRanks(ranks) {
  if (ranks.length === 0) return [0, 1]
  const best = Math.min(...ranks)
  const worst = Math.max(...ranks)
  const room = Math.max((worst - best) * 0.08, (4 - (worst - best)) / 2, 0.6)
  return [Math.max(best - room, 0.4), worst + room]
}

/**
 * @template Drawn
 * @param {Pen<Drawn>} pen
 * @param {Frame} frame
 * @param {Plot} plot
 * @param {readonly Drawn[]} content
 */
function drawFrame(pen, frame, plot, content) {
  const { label, width, days } = frame
  const attributes = {
    class: 'chart',
    role: 'img',
    'aria-label': label,
    viewBox: `0 0 ${width} ${plot.height}`,
    'data-left': plot.left,
    'data-step': plot.step,
    'data-top': plot.top,
    'data-bottom': plot.bottom,
  }
  const every = Math.max(1, Math.ceil((LABEL_WIDTH * days.length) / (width - LEFT - RIGHT)))
  const dayLabels = days.flatMap((day, n) =>
    (days.length - 1 - n) % every === 0
      ? [write(pen, 'axis day', xOf(plot, n), plot.height - 8, shortDay(day))]
      : [],
  )
  return pen.element('svg', attributes, [pen.element('title', {}, [label]), ...content, ...dayLabels])
}

/**
 * @template Drawn
 * @param {Pen<Drawn>} pen
 * @param {Frame} frame
 * @param {Scale} y
 * @param {readonly number[]} ticks
 */
function drawValueAxis(pen, { width, unit = '' }, y, ticks) {
  return ticks.flatMap((tick) => [
    pen.element('path', { class: 'grid', d: `M${LEFT},${y.at(tick)}H${width - RIGHT}` }),
    write(pen, 'axis value', LEFT - 8, y.at(tick) + 4, formatTick(tick, unit)),
  ])
}

/** @param {number} tick @param {string} unit */
function formatTick(tick, unit) {
  const isMoney = unit === '$'
  const text = tick.toLocaleString(
    'en-US',
    isMoney ? { minimumFractionDigits: 2, maximumFractionDigits: 6 } : {},
  )
  return isMoney ? `$${text}` : `${text}${unit}`
}

/**
 * A line through neighbouring days, and a dot where a day has no neighbour.
 *
 * @template Drawn
 * @param {Pen<Drawn>} pen
 * @param {Plot} plot
 * @param {string} className
 * @param {readonly (number | null)[]} values
 * @param {(value: number) => number} yAt
 */
function drawLine(pen, plot, className, values, yAt) {
  const path = pen
    .line()
    .defined(([, value]) => value !== null)
    .x(([day]) => xOf(plot, day))
    .y(([, value]) => yAt(value))
  const points = /** @type {[number, number][]} */ ([...values.entries()])
  const lonely = points.flatMap(([day, value]) =>
    value !== null && (values[day - 1] ?? null) === null && (values[day + 1] ?? null) === null
      ? [`M${xOf(plot, day)},${yAt(value)}h0`]
      : [],
  )
  return [
    pen.element('path', { class: `line ${className}`, d: path(points) ?? '' }),
    ...(lonely.length === 0 ? [] : [pen.element('path', { class: `dot ${className}`, d: lonely.join('') })]),
  ]
}

/** @param {Plot} plot @param {number} day @param {number} from @param {number} to */
function drawBar(plot, day, from, to) {
  const width = Math.min(round(plot.step * (plot.step > 4 ? 0.84 : 1)), WIDEST_BAR)
  return `M${round(xOf(plot, day) - width / 2)},${from}h${width}V${to}h${-width}z`
}

/**
 * @template Drawn
 * @param {Pen<Drawn>} pen
 * @param {Frame} frame
 * @param {Plot} plot
 * @param {number} below
 */
function drawBands(pen, { bands = [] }, plot, below) {
  return bands.flatMap((className, day) =>
    className === null
      ? []
      : [
          pen.element('rect', {
            class: `band ${className}`,
            x: round(plot.left + day * plot.step),
            y: plot.top,
            width: round(plot.step),
            height: plot.bottom + below - plot.top,
          }),
        ],
  )
}

/**
 * @template Drawn
 * @param {Pen<Drawn>} pen
 * @param {Frame} frame
 * @param {Plot} plot
 * @param {number} height
 * @param {string} beyond
 */
function drawRail(pen, { width }, plot, height, beyond) {
  return [
    pen.element('rect', {
      class: 'rail',
      x: LEFT,
      y: plot.bottom + 3,
      width: width - LEFT - RIGHT,
      height: height - 4,
    }),
    write(pen, 'axis value', LEFT - 8, round(plot.bottom + height / 2 + 4), beyond),
  ]
}

/**
 * @template Drawn
 * @param {Pen<Drawn>} pen
 * @param {Plot} plot
 * @param {string} className
 * @param {readonly boolean[]} absent
 * @param {number} y
 */
function drawRailRow(pen, plot, className, absent, y) {
  // One stroke for days that follow each other, so that none shows a seam.
  const path = absent.map((isAbsent, day) => {
    if (!isAbsent || absent[day - 1]) return ''
    const next = absent.indexOf(false, day)
    const length = (next === -1 ? absent.length : next) - day
    return `M${round(plot.left + day * plot.step)},${y}h${round(length * plot.step)}`
  })
  return pen.element('path', { class: `absent ${className}`, d: path.join('') })
}

/**
 * A stroke for each day with marks, and its number above, in front of the strokes of others.
 *
 * @template Drawn
 * @param {Pen<Drawn>} pen
 * @param {Plot} plot
 */
function drawMarks(pen, { marks, top, bottom }) {
  const baseOf = (/** @type {PlacedMark} */ { row }) => top - 4 - row * MARK_ROW
  return [
    ...marks.map((mark) =>
      pen.element('path', { class: `mark ${mark.className}`, d: `M${mark.x},${baseOf(mark)}V${bottom}` }),
    ),
    ...marks.flatMap((mark) => [
      pen.element('rect', {
        class: `mark-number ${mark.className}`,
        x: round(mark.x - mark.width / 2),
        y: baseOf(mark) - NUMBER_HEIGHT,
        width: mark.width,
        height: NUMBER_HEIGHT,
        rx: NUMBER_HEIGHT / 2,
      }),
      write(pen, 'mark-text', mark.x, baseOf(mark) - 4, String(mark.number)),
    ]),
  ]
}

/**
 * @template Drawn
 * @param {Pen<Drawn>} pen
 * @param {string} className
 * @param {number} x
 * @param {number} y
 * @param {string} text
 */
function write(pen, className, x, y, text) {
  return pen.element('text', { class: className, x, y }, [text])
}

/** @param {number} value */
function round(value) {
  return Math.round(value * 10) / 10
}
