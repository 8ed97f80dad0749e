/** A message as each kind of channel takes it. Pure. */
import { html } from 'hono/html'
import { countOf } from '../report/words.ts'
import type { Content, Line, Severity } from './content.ts'

const MARKS: Readonly<Record<Severity, string>> = { critical: 'CRITICAL', warning: 'Warning', info: 'Info' }
/** Slack's own limits: of a header, and of a text in a block. */
const LONGEST_HEADER = 150
const LONGEST_TEXT = 3000
const LONGEST_LINE = 1500

/** The body of a webhook, as Standard Webhooks wants it: type, timestamp, data. */
export function renderWebhook({ type, at, ...data }: Content): string {
  return JSON.stringify({ type, timestamp: at, data })
}

/** Slack shows `text` in notifications, and `blocks` in the channel. */
export function renderSlack(content: Content): string {
  const section = (text: string) => ({
    type: 'section',
    text: { type: 'mrkdwn', text: text.slice(0, LONGEST_TEXT) },
  })
  const lines = content.lines.map((line) =>
    section(
      `*${MARKS[line.severity]}* ${escapeSlack(shorten(line.text))} _${escapeSlack(line.rule)}, ${dayOf(line)}_${slackLink(line)}`,
    ),
  )
  const blocks = [
    { type: 'header', text: { type: 'plain_text', text: content.title.slice(0, LONGEST_HEADER) } },
    ...content.summary.slice(0, 5).map((text) => section(escapeSlack(text).slice(0, LONGEST_TEXT))),
    ...lines,
    ...(content.rest === 0 ? [] : [section(describeRest(content.rest))]),
  ]
  const text = [content.title, ...content.lines.slice(0, 3).map((line) => shorten(line.text))].join('\n')
  return JSON.stringify({ text: escapeSlack(text), blocks })
}

/** What Slack's mark-up takes for its own. */
function escapeSlack(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

function slackLink({ check_url: url }: Line): string {
  return url !== null && /^https:\/\/[^\s<>|]+$/.test(url) ? ` <${url}|check it>` : ''
}

export function renderText(content: Content): string {
  const lines = content.lines.map(
    (line) =>
      `${MARKS[line.severity]}: ${line.text}\n  ${line.rule}, ${dayOf(line)}${line.check_url === null ? '' : `\n  ${line.check_url}`}`,
  )
  const rest = content.rest === 0 ? [] : [describeRest(content.rest)]
  return `${[content.title, ...content.summary, ...lines, ...rest].join('\n\n')}\n`
}

export function renderHtml(content: Content): string {
  const line = (each: Line) => html`<li style="margin:0 0 12px">
<strong>${MARKS[each.severity]}</strong> ${each.text}<br>
<small style="color:#555">${each.rule}, ${dayOf(each)}${
    each.check_url !== null && /^https?:\/\//.test(each.check_url)
      ? html` · <a href="${each.check_url}">check it</a>`
      : ''
  }</small></li>`
  return String(html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>${content.title}</title></head>
<body style="font:15px/1.5 system-ui,sans-serif;max-width:680px;margin:24px auto;padding:0 16px">
<h1 style="font-size:20px">${content.title}</h1>
${content.summary.map((text) => html`<p>${text}</p>`)}
${content.lines.length === 0 ? '' : html`<ul style="padding-left:20px">${content.lines.map(line)}</ul>`}
${content.rest === 0 ? '' : html`<p>${describeRest(content.rest)}</p>`}
</body></html>`)
}

function describeRest(rest: number): string {
  return `… and ${countOf(rest, 'more event')}: select * from alert_history;`
}

function shorten(text: string): string {
  return text.length <= LONGEST_LINE ? text : `${text.slice(0, LONGEST_LINE)}…`
}

/** A message from before an update has no day. */
function dayOf({ day, slot }: Line): string {
  return day ?? slot.slice(0, 10)
}
