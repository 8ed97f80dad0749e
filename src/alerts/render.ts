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
/** A card of Teams with 48 of them and its marks is below its 28 KB. */
const LONGEST_RUN = 400
/** Of 4,096, with room for the count of the rest. */
const LONGEST_EMBED = 3900
const LONGEST_EMBED_TITLE = 256
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

/** Teams takes an adaptive card, in which runs of text have no mark-up. */
function renderTeams(content: Content, id?: string): string {
  const block = (...inlines: object[]) => ({ type: 'RichTextBlock', inlines })
  const run = (text: string, more = {}) => ({ type: 'TextRun', text: shorten(text, LONGEST_RUN), ...more })
  const lines = content.lines.map((line) => {
    const link = line.check_url !== null && /^https:/.test(line.check_url)
    const action = link ? { selectAction: { type: 'Action.OpenUrl', url: line.check_url } } : {}
    const mark = run(`${MARKS[line.severity]} `, { weight: 'Bolder' })
    return block(mark, run(line.text), run(` ${line.rule}, ${dayOf(line)}`, { isSubtle: true, ...action }))
  })
  const body = [
    block(run(content.title, { weight: 'Bolder', size: 'Large' })),
    ...content.summary.map((text) => block(run(text))),
    ...lines,
    ...(content.rest === 0 ? [] : [block(run(describeRest(content.rest, id)))]),
  ]
  const card = { $schema: 'http://adaptivecards.io/schemas/adaptive-card.json', version: '1.4', body }
  const contentType = 'application/vnd.microsoft.card.adaptive'
  return JSON.stringify({
    type: 'message',
    attachments: [{ contentType, content: { type: 'AdaptiveCard', ...card } }],
  })
}

/** Discord takes one text of so many letters; nobody is mentioned by a name in it. */
function renderDiscord(content: Content, id?: string): string {
  const lines = content.lines.map(
    (line) =>
      `**${MARKS[line.severity]}** ${escapeDiscord(line.text)} *${escapeDiscord(line.rule)}, ${dayOf(line)}*`,
  )
  const texts = [...content.summary.map(escapeDiscord), ...lines].map((text) => shorten(text, LONGEST_RUN))
  let room = LONGEST_EMBED
  const fitting = texts.filter((text) => {
    room -= text.length + 2
    return room >= 0
  })
  const rest = content.rest + texts.length - fitting.length
  const description = [...fitting, ...(rest === 0 ? [] : [describeRest(rest, id)])].join('\n\n')
  return JSON.stringify({
    allowed_mentions: { parse: [] },
    embeds: [{ title: shorten(content.title, LONGEST_EMBED_TITLE), description }],
  })
}

function escapeDiscord(text: string): string {
  return text.replace(/[\\*_~`|>[\]()#]/g, '\\$&')
}

export const CHATS = { slack: renderSlack, teams: renderTeams, discord: renderDiscord } as const

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
