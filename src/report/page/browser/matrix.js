// @ts-check
/** Every followed app on every keyword on the last day, as a table that is made when it is opened. */
import { make } from './elements.js'
import { data, describePoint } from './ranks.js'
import { applyScope } from './scope.js'

export function prepareMatrix() {
  const details = document.querySelector('#matrix')
  details?.addEventListener('toggle', () => {
    if (details.childElementCount > 1) return
    details.append(drawMatrix())
    if (document.querySelector('#filters') !== null) applyScope()
  })
}

function drawMatrix() {
  const points = new Map(data.series.map(([list, app, all]) => [`${list} ${app}`, all.at(-1) ?? 0]))
  const heads = data.apps.map(({ name }) => make('th', { scope: 'col' }, [make('bdi', {}, [name])]))
  const rows = data.lists.map(({ name, place }, list) =>
    make('tr', {}, [
      make('th', { scope: 'row', 'data-list': list }, [make('bdi', {}, [name]), make('small', {}, [place])]),
      ...data.apps.map((_, app) => {
        const point = points.get(`${list} ${app}`)
        return make('td', {}, [point === undefined ? '' : describePoint(point)])
      }),
    ]),
  )
  const table = make('table', { class: 'matrix' }, [
    make('thead', {}, [make('tr', {}, [make('th', { scope: 'col' }, ['Keyword or chart']), ...heads])]),
    make('tbody', {}, rows),
  ])
  return make('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Ranks of all apps' }, [
    table,
  ])
}
