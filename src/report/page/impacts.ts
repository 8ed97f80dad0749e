/** Beside each event what changed with it: against the other keywords, the competitors and everybody. */
import { formatDay } from '../../text/days.js'
import { countOf, formatDifference, roundToTenths } from '../../text/words.ts'
import type { Report } from '../model.ts'
import type { Impact } from '../model-store.ts'
import { nameApp } from '../summary.ts'
import { html, type Markup, NOTHING } from './markup.ts'

export function showImpacts(report: Report): Markup {
  if (report.impacts.length === 0) return NOTHING
  const rows = report.impacts.map((impact, n) => showImpact(report, impact, report.impacts[n - 1]))
  return html`<h3>What releases, titles and notes did to ranks</h3>
<p>Average rank of the week before and the week from the day on, on keywords that both have measured; not
found counts as the first rank not looked at. Places climbed are +.</p>
<div class="scroll" tabindex="0" role="region" aria-label="What events changed">
<table class="changes texts"><thead><tr><th scope="col">Day</th><th scope="col" class="text">Event</th>
<th scope="col" class="text">Keywords</th><th scope="col">Before</th><th scope="col">After</th>
<th scope="col">Change</th><th scope="col">Competitors</th><th scope="col">It moved by</th>
<th scope="col">Everybody by</th></tr></thead><tbody>${rows}</tbody></table></div>`
}

/** The event is named once, before its first line. */
function showImpact(report: Report, impact: Impact, previous: Impact | undefined): Markup {
  const { day, app, event, before, after, change, competitors, moved, everybody } = impact
  const isSame = previous?.day === day && previous.app === app && previous.event === event
  const rank = (value: number | null) => (value === null ? '–' : String(roundToTenths(value)))
  const climb = (value: number | null) => (value === null ? '–' : formatDifference(value))
  const about = isSame ? NOTHING : html`${event}<small>${nameApp(report, app)}</small>`
  return html`<tr><th scope="row">${isSame ? NOTHING : html`<time datetime="${day}">${formatDay(day)}</time>`}
</th><td class="text">${about}</td><td class="text">${describeLists(impact)}</td>
<td data-head="before">${rank(before)}</td><td data-head="after">${rank(after)}</td>
<td data-head="change" class="${toneOf(change)}">${climb(change)}</td>
<td data-head="competitors">${climb(competitors)}</td><td data-head="it moved by">${rank(moved)}</td>
<td data-head="everybody by">${rank(everybody)}</td></tr>`
}

const toneOf = (change: number | null) => (change === null || change === 0 ? '' : change > 0 ? 'good' : 'bad')

function describeLists({ lists, words, compared }: Impact): string {
  const count = countOf(compared, 'keyword')
  if (lists === 'all') return `all: ${count}`
  if (lists === 'others') return `without these words: ${count}`
  return `with ${lists} ${words.join(', ')}: ${count}`
}
