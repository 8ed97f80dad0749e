/** A message as each kind of channel takes it. Pure. */
import { html } from 'hono/html'
import { countOf } from '../text/words.ts'
import type { Content, Line } from './content.ts'
import type { Severity } from './event.ts'

const MARKS: Readonly<Record<Severity, string>> = { critical: 'CRITICAL', warning: 'Warning', info: 'Info' }
/** Slack's own limits: of a header, and of a text in a block. */
const LONGEST_HEADER = 150
/** With them and 40 lines a message has fewer than Slack's 50 blocks. */
const MOST_SUMMARY = 7
const LONGEST_TEXT = 3000
/** Beside a text of so much a link has its place in a block. */
const LONGEST_LINK = 1000

/** The body of a webhook, as Standard Webhooks wants it: type, timestamp, data. */
export function renderWebhook({ type, at, ...data }: Content): string {
  return JSON.stringify({ type, timestamp: at, data })
}

/** Slack shows `text` in notifications, and `blocks` in the channel. */
export function renderSlack(content: Content, id?: string): string {
  const section = (text: string) => ({ type: 'section', text: { type: 'mrkdwn', text } })
  const lines = content.lines.map((line) => {
    const mark = `*${MARKS[line.severity]}* `
    const about = ` _${escapeSlack(line.rule)}, ${dayOf(line)}_${slackLink(line)}`
    const text = escapeSlack(line.text, LONGEST_TEXT - mark.length - about.length)
    return section(mark + text + about)
  })
  const blocks = [
    { type: 'header', text: { type: 'plain_text', text: shorten(content.title, LONGEST_HEADER) } },
    ...content.summary.slice(0, MOST_SUMMARY).map((text) => section(escapeSlack(text, LONGEST_TEXT))),
    ...lines,
    ...(content.rest === 0 ? [] : [section(describeRest(content.rest, id))]),
  ]
  const first = content.lines.slice(0, 3).map(({ text }) => escapeSlack(text, LONGEST_TEXT))
  return JSON.stringify({ text: [escapeSlack(content.title), ...first].join('\n'), blocks })
}

const SLACK_MARKS: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' }

/**
 * What Slack's mark-up takes for its own is escaped; what is longer than `most` ends with an ellipsis, and
 * within no character.
 */
function escapeSlack(text: string, most = Number.POSITIVE_INFINITY): string {
  let escaped = ''
  for (const character of text) {
    const next = SLACK_MARKS[character] ?? character
    if (escaped.length + next.length >= most) return `${escaped}…`
    escaped += next
  }
  return escaped
}

function slackLink({ check_url: url }: Line): string {
  return url !== null && url.length <= LONGEST_LINK && /^https:\/\/[^\s<>|]+$/.test(url)
    ? ` <${url}|check it>`
    : ''
}

export function renderText(content: Content, id?: string): string {
  const lines = content.lines.map((line) => {
    const about = [`${line.rule}, ${dayOf(line)}`, line.check_url].filter((text) => text !== null)
    return [`${MARKS[line.severity]}: ${line.text}`, ...about].join('\n  ')
  })
  const rest = content.rest === 0 ? [] : [describeRest(content.rest, id)]
  return `${[content.title, ...content.summary, ...lines, ...rest].join('\n\n')}\n`
}

export function renderHtml(content: Content, id?: string): string {
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
${content.rest === 0 ? '' : html`<p>${describeRest(content.rest, id)}</p>`}
</body></html>`)
}

function describeRest(rest: number, id?: string): string {
  const where = id === undefined ? '' : ` where message_id = '${id}'`
  return `… and ${countOf(rest, 'more event')}: select * from alert_history${where};`
}

function shorten(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1).replace(/[\ud800-\udbff]$/, '')}…`
}

/** A message from before an update has no day. */
function dayOf({ day, slot }: Line): string {
  return day ?? slot.slice(0, 10)
}
