/** What a person says before a report: paragraphs, headings and lists of Markdown, and nothing that acts. */
import { html, type Markup } from './markup.ts'

export function showIntro(text: string): Markup {
  const blocks = text.replace(/\r\n?/g, '\n').split(/\n\s*\n/)
  return html`<section class="intro" aria-label="Introduction">${blocks.map(showBlock)}</section>`
}

function showBlock(block: string): Markup | '' {
  const lines = block.split('\n').filter((line) => line.trim() !== '')
  const [first = ''] = lines
  if (first === '') return ''
  if (/^#+\s/.test(first))
    return html`<h2>${showWords(first.replace(/^#+\s+/, ''))}</h2>${showBlock(lines.slice(1).join('\n'))}`
  if (lines.every((line) => /^\s*[-*]\s/.test(line)))
    return html`<ul>${lines.map((line) => html`<li>${showWords(line.replace(/^\s*[-*]\s+/, ''))}</li>`)}</ul>`
  return html`<p>${showWords(lines.join(' '))}</p>`
}

/** `**bold**` and `[links](https://…)`. */
function showWords(text: string): (Markup | string)[] {
  return text.split(/(\*\*[^*]+\*\*|\[[^\]]+\]\(https:\/\/[^\s)]+\))/).map((part) => {
    const [, bold] = /^\*\*(.+)\*\*$/.exec(part) ?? []
    if (bold !== undefined) return html`<strong>${bold}</strong>`
    const [, name, url] = /^\[(.+)\]\((https:.+)\)$/.exec(part) ?? []
    return url === undefined ? part : html`<a href="${url}" rel="noreferrer">${name}</a>`
  })
}
