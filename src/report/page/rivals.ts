/** Head to head: each own app against each competitor, and who overtook whom, where and when. */

import { formatDay } from '../../text/days.js'
import { formatCount } from '../../text/words.ts'
import type { Duel, Overtaking, Report } from '../model.ts'
import { nameApp, nameList, overtakingSince } from '../summary.ts'
import { formatPoint } from '../words.ts'
import { showNothing } from './figure.ts'
import { html, type Markup } from './markup.ts'

const SHOWN = 15

export function showRivals(report: Report): Markup {
  const { duels } = report
  if (duels.length === 0)
    return html`<section id="rivals" aria-labelledby="rivals-title">
<h2 id="rivals-title">Head to head</h2>
${showNothing('No own app and competitor are ranked on the same keyword or chart.')}</section>`
  return html`<section id="rivals" aria-labelledby="rivals-title"><h2 id="rivals-title">Head to head</h2>
<p class="lead">Keywords on which one of the two ranks: who is ahead now, who overtook whom since
${overtakingSince(report)}.</p>
<div class="scroll" tabindex="0" role="region" aria-label="Own apps against competitors"><table class="duels">
<thead><tr><th scope="col">Own app</th><th scope="col" class="text">Competitor</th>
<th scope="col">Ahead on</th><th scope="col">Behind on</th><th scope="col" class="share">Share ahead</th>
<th scope="col">Overtook it on</th><th scope="col">Was overtaken on</th></tr></thead>
<tbody>${duels.map((duel) => showDuel(report, duel))}</tbody></table></div>
<div class="columns two">${showTurns(report, duels, 'lost')}${showTurns(report, duels, 'won')}</div>
</section>`
}

function showDuel(report: Report, { own, rival, ahead, behind, won, lost }: Duel): Markup {
  const percent = Math.round((100 * ahead) / (ahead + behind))
  return html`<tr><th scope="row">${nameApp(report, own)}</th><td class="text">${nameApp(report, rival)}</td>
<td>${formatCount(ahead)}</td><td>${formatCount(behind)}</td>
<td class="share"><meter min="0" max="100" value="${percent}" aria-label="Share ahead">${percent} %</meter>
${percent} %</td>${showTimes(won.length, 'good')}${showTimes(lost.length, 'bad')}</tr>`
}

/** No colour says of nothing that it is good or bad. */
function showTimes(times: number, tone: 'good' | 'bad'): Markup {
  return html`<td class="${times === 0 ? '' : tone}">${formatCount(times)}</td>`
}

function showTurns(report: Report, duels: readonly Duel[], side: 'won' | 'lost'): Markup {
  // Where it matters most: the nearer to the first place, the higher.
  const place = ({ own, rival }: Overtaking) =>
    Math.min(...[own[1], rival[1]].filter((rank) => rank !== null))
  const turns = duels
    .flatMap((duel) => duel[side].map((turn) => ({ duel, turn })))
    .toSorted((a, b) => place(a.turn) - place(b.turn) || b.turn.day.localeCompare(a.turn.day))
  const title = side === 'won' ? 'We overtook' : 'We were overtaken'
  if (turns.length === 0) return html`<div><h3>${title}</h3>${showNothing('None.')}</div>`
  const more =
    turns.length > SHOWN
      ? html`<p class="more">and ${formatCount(turns.length - SHOWN)} more, further down</p>`
      : ''
  return html`<div><h3>${title} (${formatCount(turns.length)})</h3>
<ol class="turns">${turns.slice(0, SHOWN).map(({ duel, turn }) => showTurn(report, duel, turn))}</ol>${more}
</div>`
}

function showTurn(report: Report, { own, rival }: Duel, turn: Overtaking): Markup {
  const seriesOf = (app: number) =>
    report.series.findIndex((series) => series.list === turn.list && series.app === app)
  const show = (app: number, [before, after]: readonly [number | null, number | null]) => {
    const today = formatPoint(report.series[seriesOf(app)]?.points.at(-1) ?? 0)
    const course = `${before ?? 'not ranked'} → ${after ?? 'not ranked'}`
    return html`<bdi>${nameApp(report, app)}</bdi> <b>${course}</b> (today ${today})`
  }
  return html`<li><a href="#k${seriesOf(own)}">${nameList(report, turn.list)}</a>
<time datetime="${turn.day}">${formatDay(turn.day)}</time>
<small>${show(own, turn.own)}, ${show(rival, turn.rival)}</small></li>`
}
