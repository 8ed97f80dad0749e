// @ts-check
/** The country and the tag that are chosen above the page: what names another keyword is not shown. */
import { data, find, findAll } from './elements.js'

/** What is chosen of a field of the filters; empty for all. @param {string} field */
export function chosen(field) {
  return String(new FormData(/** @type {HTMLFormElement} */ (find('#filters'))).get(field) ?? '')
}

/** Whether a list is of what is chosen. @param {number} list */
export function isInScope(list) {
  const { place = '', tags = [] } = data.lists[list] ?? {}
  const [onlyPlace, onlyTag] = [chosen('place'), chosen('tag')]
  return (onlyPlace === '' || onlyPlace === place) && (onlyTag === '' || tags.includes(onlyTag))
}

/** Hides each item and row that is about another keyword. */
export function applyScope() {
  for (const element of findAll('[data-list]')) {
    element.closest('li, tr')?.toggleAttribute('hidden', !isInScope(Number(element.dataset.list)))
  }
  for (const note of findAll('#scoped')) note.hidden = chosen('place') + chosen('tag') === ''
}
