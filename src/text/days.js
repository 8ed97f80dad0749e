// @ts-check
/** Days as a person reads them, on paper, on the terminal and in the page's own script. */

/** Intl has `Sept`, where every other month has three letters. */
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

/** `5 Sep` @param {string} day `2026-09-05` */
export function shortDay(day) {
  return `${Number(day.slice(8))} ${MONTHS[Number(day.slice(5, 7)) - 1]}`
}

/** `5 Sep 2026` @param {string} day `2026-09-05` */
export function formatDay(day) {
  return `${shortDay(day)} ${day.slice(0, 4)}`
}
