// @ts-check
/**
 * Releases and notes beside the days of a chart: a number above each day that has any, and what the numbers
 * mean in a list below.
 *
 * @import { Mark } from './drawing.ts'
 */

const DIGIT_WIDTH = 7
const ROOM = 2
export const NUMBER_HEIGHT = 15
const LONGEST_TEXT = 160

/**
 * The days with marks, counted from 1. Their colour is that of the app, where they are about one.
 *
 * @param {readonly Mark[]} marks
 */
export function numberMarks(marks) {
  const days = [...Map.groupBy(marks, ({ day }) => day)].sort(([a], [b]) => a - b)
  return days.map(([day, ofDay], n) => {
    const [first = 'note', ...others] = new Set(ofDay.map((mark) => mark.className)).difference(
      new Set(['note']),
    )
    const texts = ofDay.map(({ text }) => cutMark(text))
    return { number: n + 1, day, className: others.length === 0 ? first : 'note', texts }
  })
}

/** @param {string} text */
function cutMark(text) {
  const letters = [...text]
  return letters.length > LONGEST_TEXT ? `${letters.slice(0, LONGEST_TEXT - 1).join('')}…` : text
}

/** @typedef {ReturnType<typeof placeMarks>[number]} PlacedMark */

/**
 * The numbers in as many rows as they need not to run into each other, the lowest first.
 *
 * @param {readonly Mark[]} marks
 * @param {(day: number) => number} xAt
 */
export function placeMarks(marks, xAt) {
  /** @type {number[]} */
  const ends = []
  return numberMarks(marks).map((mark) => {
    const x = xAt(mark.day)
    const width = NUMBER_HEIGHT + (String(mark.number).length - 1) * DIGIT_WIDTH
    const free = ends.findIndex((end) => end <= x - width / 2)
    const row = free === -1 ? ends.length : free
    ends[row] = x + width / 2 + ROOM
    return { ...mark, x, width, row }
  })
}
