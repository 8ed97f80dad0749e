/** Head to head: each own app against each competitor, and who overtook whom, where and when. */

import type { Shown } from '../../sections.ts'
import { formatDay } from '../../text/days.js'
import { formatCount } from '../../text/words.ts'
import type { Duel, Overtaking, Report } from '../model.ts'
import { nameApp, overtakingSince } from '../summary.ts'
import { formatPoint } from '../words.ts'
import { showMore, showNothing } from './figure.ts'
import { nameKeyword } from './keywords.ts'
import { html, type Markup } from './markup.ts'

const SHOWN = 15

export function showRivals(report: Report, shown: Shown): Markup {
  const { duels } = report
  if (duels.length === 0)
    return html`<section id="rivals" aria-labelledby="rivals-title">
<h2 id="rivals-title">Head to head</h2>
${showNothing('No own app and competitor are ranked on the same keyword or chart.')}</section>`
  return html`<section id="rivals" aria-labelledby="rivals-title"><h2 id="rivals-title">Head to head</h2>
<p class="lead">Keywords on which one of the two ranks: who is ahead now, who overtook whom since
${overtakingSince(report)}.</p>
<div class="scroll" tabindex="0" role="region" aria-label="Own apps against competitors">
<table class="duels texts">
<thead><tr><th scope="col">Own app</th><th scope="col" class="text">Competitor</th>
<th scope="col">Ahead on</th><th scope="col">Behind on</th><th scope="col" class="share">Share ahead</th>
<th scope="col">Overtook it on</th><th scope="col">Was overtaken on</th></tr></thead>
<tbody>${duels.map((duel) => showDuel(report, duel))}</tbody></table></div>
<div class="columns">${showTurns(report, 'lost', shown)}${showTurns(report, 'won', shown)}</div>
</section>`
}

function showDuel(report: Report, { own, rival, ahead, behind, won, lost }: Duel): Markup {
  const percent = Math.round((100 * ahead) / (ahead + behind))
  return html`<tr><th scope="row">${nameApp(report, own)}</th><td class="text">${nameApp(report, rival)}</td>
<td data-head="ahead on">${formatCount(ahead)}</td><td data-head="behind on">${formatCount(behind)}</td>
<td class="share" data-head="share ahead">
<meter min="0" max="100" value="${percent}" aria-label="Share ahead">${percent} %</meter>
${percent} %</td>${showTimes('overtook it on', won.length, 'good')}
${showTimes('was overtaken on', lost.length, 'bad')}</tr>`
}

/** No colour says of nothing that it is good or bad. */
function showTimes(what: string, times: number, tone: 'good' | 'bad'): Markup {
  return html`<td data-head="${what}" class="${times === 0 ? '' : tone}">${formatCount(times)}</td>`
}

function showTurns(report: Report, side: 'won' | 'lost', shown: Shown): Markup {
  // Where it matters most: the nearer to the first place, the higher.
  const place = ({ own, rival }: Overtaking) =>
    Math.min(...[own[1], rival[1]].filter((rank) => rank !== null))
  const turns = report.duels
    .flatMap((duel) => duel[side].map((turn) => ({ duel, turn })))
    .toSorted((a, b) => place(a.turn) - place(b.turn) || b.turn.day.localeCompare(a.turn.day))
  const title = side === 'won' ? 'We overtook' : 'We were overtaken'
  if (turns.length === 0) return html`<div><h3>${title}</h3>${showNothing('None.')}</div>`
  const rows = turns.map(({ duel, turn }) => showTurn(report, duel, turn, shown))
  const list = (some: readonly Markup[]) => html`<ol class="turns">${some}</ol>`
  return html`<div><h3>${title} (${formatCount(turns.length)})</h3>${showMore(rows, SHOWN, list)}</div>`
}

function showTurn(report: Report, { own, rival }: Duel, turn: Overtaking, shown: Shown): Markup {
  const pointsOf = (app: number) =>
    report.series.find((series) => series.list === turn.list && series.app === app)?.points ?? []
  const show = (app: number, [before, after]: readonly [number | null, number | null]) => {
    const today = formatPoint(pointsOf(app).at(-1) ?? 0)
    const course = `${before ?? 'not ranked'} → ${after ?? 'not ranked'}`
    return html`<bdi>${nameApp(report, app)}</bdi> <b>${course}</b> (today ${today})`
  }
  return html`<li>${nameKeyword(report, { list: turn.list, app: own }, shown)}
<time datetime="${turn.day}">${formatDay(turn.day)}</time>
<small>${show(own, turn.own)}, ${show(rival, turn.rival)}</small></li>`
}
