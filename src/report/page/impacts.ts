/** Beside each event what changed with it: against the other keywords, the competitors and everybody. */
import { countOf, formatDifference, roundToTenths } from '../../text/words.ts'
import type { Impact, Report } from '../model.ts'
import { nameApp } from '../summary.ts'
import { html, type Markup, NOTHING, showDay } from './markup.ts'
import { showTable, toneOf } from './table.ts'

export function showImpacts(report: Report): Markup {
  if (report.impacts.length === 0) return NOTHING
  const rows = report.impacts.map((impact, n) => showImpact(report, impact, report.impacts[n - 1]))
  const heads = [
    ...['Day', { text: 'Event' }, { text: 'Keywords' }, 'Before', 'After', 'Change', 'Competitors'],
    ...['It moved by', 'Everybody by'],
  ]
  return html`<h3>What releases, titles and notes did to ranks</h3>
<p>Average rank of the week before and the week from the day on, on keywords that both have measured; not
found counts as the first rank not looked at. Places climbed are +.</p>
${showTable('What events changed', 'changes', heads, rows)}`
}

/** The event is named once, before its first line. */
function showImpact(report: Report, impact: Impact, previous: Impact | undefined) {
  const { day, app, event, before, after, change, competitors, moved, everybody } = impact
  const isSame = previous?.day === day && previous.app === app && previous.event === event
  const rank = (value: number | null) => (value === null ? '–' : roundToTenths(value).toFixed(1))
  const climb = (value: number | null) => (value === null ? '–' : formatDifference(value))
  return [
    isSame ? NOTHING : showDay(day),
    isSame ? NOTHING : html`${event}<small>${nameApp(report, app)}</small>`,
    describeLists(impact),
    rank(before),
    rank(after),
    { shown: climb(change), as: toneOf(change) },
    climb(competitors),
    rank(moved),
    rank(everybody),
  ]
}

function describeLists({ lists, words, compared }: Impact): string {
  const count = countOf(compared, 'keyword')
  if (lists === 'all') return `all: ${count}`
  if (lists === 'others') return `without these words: ${count}`
  return `with ${lists} ${words.join(', ')}: ${count}`
}
