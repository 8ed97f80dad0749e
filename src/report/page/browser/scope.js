// @ts-check
/** The country and the tag that are chosen above the page: what names another keyword is not shown. */
import { find, findAll } from './elements.js'
import { data } from './ranks.js'

const chosen = () => new FormData(/** @type {HTMLFormElement} */ (find('#filters')))

/** Whether a list is of what is chosen. @param {number} list */
export function isInScope(list) {
  const { place = '', tags = [] } = data.lists[list] ?? {}
  const wanted = chosen()
  const [onlyPlace, onlyTag] = [String(wanted.get('place') ?? ''), String(wanted.get('tag') ?? '')]
  return (onlyPlace === '' || onlyPlace === place) && (onlyTag === '' || tags.includes(onlyTag))
}

/** Hides each item and row that is about another keyword. */
export function applyScope() {
  for (const element of findAll('[data-list]')) {
    const item = element.closest('li, tr')
    item?.toggleAttribute('hidden', !isInScope(Number(element.dataset.list)))
  }
  const wanted = chosen()
  const isPart = ['place', 'tag'].some((field) => (wanted.get(field) ?? '') !== '')
  for (const note of findAll('#scoped')) note.hidden = !isPart
}

/** @param {() => void} changed what else depends on it */
export function prepareScope(changed) {
  for (const choice of findAll('.scope select')) {
    choice.addEventListener('input', () => {
      applyScope()
      changed()
    })
  }
  applyScope()
}
