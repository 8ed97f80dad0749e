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
    const url = line.check_url ?? ''
    const isLink = url.length <= LONGEST_LINK && /^https:\/\/[^\s<>|]+$/.test(url)
    const about = ` _${escapeSlack(aboutOf(line))}_${isLink ? ` <${url}|check it>` : ''}`
    return section(mark + escapeSlack(line.text, LONGEST_TEXT - mark.length - about.length) + about)
  })
  const blocks = [
    { type: 'header', text: { type: 'plain_text', text: shorten(content.title, LONGEST_HEADER) } },
    ...content.summary.slice(0, MOST_SUMMARY).map((text) => section(escapeSlack(text, LONGEST_TEXT))),
    ...lines,
    ...describeRest(content.rest, id).map(section),
  ]
  const first = content.lines.slice(0, 3).map(({ text }) => escapeSlack(text, LONGEST_TEXT))
  return JSON.stringify({ text: [escapeSlack(content.title), ...first].join('\n'), blocks })
}

/** Teams takes an adaptive card, in which runs of text have no mark-up. */
function renderTeams(content: Content, id?: string): string {
  const block = (...inlines: object[]) => ({ type: 'RichTextBlock', inlines })
  const run = (text: string, more = {}) => ({ type: 'TextRun', text: shorten(text, LONGEST_RUN), ...more })
  const lines = content.lines.map((line) => {
    const link = line.check_url?.startsWith('https:')
    const action = link ? { selectAction: { type: 'Action.OpenUrl', url: line.check_url } } : {}
    const mark = run(`${MARKS[line.severity]} `, { weight: 'Bolder' })
    return block(mark, run(line.text), run(` ${aboutOf(line)}`, { isSubtle: true, ...action }))
  })
  const paragraph = (text: string) => block(run(text))
  const body = [
    block(run(content.title, { weight: 'Bolder', size: 'Large' })),
    ...content.summary.map(paragraph),
    ...lines,
    ...describeRest(content.rest, id).map(paragraph),
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
    (line) => `**${MARKS[line.severity]}** ${escapeDiscord(line.text)} *${escapeDiscord(aboutOf(line))}*`,
  )
  const texts = [...content.summary.map(escapeDiscord), ...lines].map((text) => shorten(text, LONGEST_RUN))
  let room = LONGEST_EMBED
  const fitting = texts.filter((text) => {
    room -= text.length + 2
    return room >= 0
  })
  const rest = content.rest + texts.length - fitting.length
  const description = [...fitting, ...describeRest(rest, id)].join('\n\n')
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

/** Escapes Slack's mark-up; what is longer than `most` ends with an ellipsis, and within no character. */
function escapeSlack(text: string, most = Number.POSITIVE_INFINITY): string {
  let escaped = ''
  for (const character of text) {
    const next = SLACK_MARKS[character] ?? character
    if (escaped.length + next.length >= most) return `${escaped}…`
    escaped += next
  }
  return escaped
}

export function renderText(content: Content, id?: string): string {
  const lines = content.lines.map((line) =>
    [`${MARKS[line.severity]}: ${line.text}`, aboutOf(line), line.check_url ?? []].flat().join('\n  '),
  )
  return `${[content.title, ...content.summary, ...lines, ...describeRest(content.rest, id)].join('\n\n')}\n`
}

export function renderHtml(content: Content, id?: string): string {
  const paragraph = (text: string) => html`<p>${text}</p>`
  const lines = content.lines.map((line) => {
    const url = line.check_url
    const link = url !== null && /^https?:\/\//.test(url) ? html` · <a href="${url}">check it</a>` : ''
    return html`<li style="margin:0 0 12px">
<strong>${MARKS[line.severity]}</strong> ${line.text}<br>
<small style="color:#555">${aboutOf(line)}${link}</small></li>`
  })
  return String(html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>${content.title}</title></head>
<body style="font:15px/1.5 system-ui,sans-serif;max-width:680px;margin:24px auto;padding:0 16px">
<h1 style="font-size:20px">${content.title}</h1>
${content.summary.map(paragraph)}
${lines.length === 0 ? '' : html`<ul style="padding-left:20px">${lines}</ul>`}
${describeRest(content.rest, id).map(paragraph)}
</body></html>`)
}

/** A sentence on the events that are in no line, where there are any. */
function describeRest(rest: number, id?: string): string[] {
  const where = id === undefined ? '' : ` where message_id = '${id}'`
  return rest === 0 ? [] : [`… and ${countOf(rest, 'more event')}: select * from alert_history${where};`]
}

function shorten(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1).replace(/[\ud800-\udbff]$/, '')}…`
}

/** The rule and the day. A message from before an update has no day. */
function aboutOf({ rule, day, slot }: Line): string {
  return `${rule}, ${day ?? slot.slice(0, 10)}`
}
