// @ts-check
/** Every followed app on every keyword on the last day, as a table that is made when it is opened. */
import { formatPoint } from '../../points.js'
import { scrolling } from '../captions.js'
import { element } from '../element.js'
import { data } from './data.js'
import { make } from './elements.js'
import { applyScope } from './scope.js'

export function prepareMatrix() {
  const details = document.querySelector('#matrix')
  details?.addEventListener('toggle', () => {
    if (details.childElementCount > 1) return
    details.append(make(scrolling('Ranks of all apps', drawMatrix())))
    if (document.querySelector('#filters') !== null) applyScope()
  })
}

function drawMatrix() {
  const points = new Map(data.series.map(([list, app, all]) => [`${list} ${app}`, all.at(-1) ?? 0]))
  const name = (/** @type {string} */ text) => element('bdi', {}, [text])
  const heads = ['Keyword or chart', ...data.apps.map((app) => name(app.name))]
  const rows = data.lists.map((of, list) => {
    const cells = data.apps.map((_, app) => {
      const point = points.get(`${list} ${app}`)
      return element('td', {}, [point === undefined ? '' : formatPoint(point)])
    })
    const about = [name(of.name), element('small', {}, [of.place])]
    return element('tr', {}, [element('th', { scope: 'row', 'data-list': list }, about), ...cells])
  })
  const head = element(
    'tr',
    {},
    heads.map((text) => element('th', { scope: 'col' }, [text])),
  )
  return element('table', { class: 'matrix' }, [element('thead', {}, [head]), element('tbody', {}, rows)])
}
