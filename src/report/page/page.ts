/**
 * The report as one page: no file beside it and no network. A content security policy names each script and
 * style by its hash and allows nothing else, and whatever comes from a store or a person is escaped.
 */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { formatMinute } from '../../instant.ts'
import { ALL, SECTIONS, type SectionName, type Shown } from '../../sections.ts'
import { formatDay } from '../../text/days.js'
import type { Report } from '../read.ts'
import { showCoverage, showMoney } from './books.ts'
import { showChanges } from './changes.ts'
import { collectData, packData } from './data.ts'
import { showKeywords, showScope } from './keywords.ts'
import { html, type Markup, NOTHING, raw } from './markup.ts'
import { showMovers, showSummary } from './overview.ts'
import { showHolders, showRivals } from './rivals.ts'
import { showRatings } from './store.ts'
import { showTrends } from './trends.ts'

export interface PageOptions {
  /** Instead of the project's name. */
  readonly title?: string
  /** `data:image/…`, shown beside the title. */
  readonly logoUrl?: string
  /** Letters and digits by which whoever wrote the page knows what it was made of. */
  readonly stamp?: string
  /** Default: all of them. */
  readonly shown?: Shown
  /** Markdown, before the first section. */
  readonly intro?: string
  /** `#1d59c4`: of links and what is chosen. */
  readonly accent?: string
}

type Show = (report: Report, shown: Shown) => Markup

/** As the links above the page call it, its heading, and what it says. */
const PARTS: Readonly<Record<SectionName, readonly [string, string, Show]>> = {
  summary: ['In short', 'In short', showSummary],
  movers: ['What moved', 'What moved', showMovers],
  trends: ['Over time', 'Over time', showTrends],
  keywords: ['Keywords', 'Keywords', showKeywords],
  rivals: ['Head to head', 'Head to head', showRivals],
  holders: ['Who holds them', 'Who holds your keywords', showHolders],
  changes: ['Changes', 'Changes in the stores', showChanges],
  ratings: ['Ratings', 'Ratings and reviews', showRatings],
  gaps: ['Gaps', 'Completeness of the data', showCoverage],
  money: ['Money', 'Money', showMoney],
}

export function renderPage(report: Report, options: PageOptions = {}): string {
  const { title = report.project, logoUrl, stamp = '', shown = ALL, intro, accent } = options
  const { style: common, libraries, script } = readAssets()
  const style = accent === undefined ? common : `${common}\n${colour(accent)}`
  const names = SECTIONS.filter((name) => shown.has(name))
  const policy = [
    "default-src 'none'",
    `style-src ${hashOf(style)}`,
    `script-src ${[...libraries, script].map(hashOf).join(' ')}`,
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ')
  const page = html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><meta name="referrer" content="no-referrer">
<meta name="storerank-stamp" content="${stamp}">
<title>${title}: ranks to ${formatDay(report.days.at(-1) ?? '')}</title>
<style>${raw(style)}</style></head><body>
<a class="skip" href="#main">To the report</a>
${showHead(report, title, logoUrl, names)}
<main id="main">${intro === undefined ? NOTHING : showIntro(intro)}
${names.map((name) => showSection(name, report, shown))}</main>
${showFoot(report)}
<script type="text/plain" id="data">${raw(packData(collectData(report, shown)))}</script>
${libraries.map((library) => html`<script>${raw(library)}</script>`)}
<script type="module">${raw(script)}</script>
</body></html>
`
  return page.toString()
}

function showSection(name: SectionName, report: Report, shown: Shown): Markup {
  const [, heading, show] = PARTS[name]
  return html`<section id="${name}" aria-labelledby="${name}-title"><h2 id="${name}-title">${heading}</h2>
${show(report, shown)}</section>`
}

/** By night it is lighter, so that it can be read. */
const colour = (accent: string) =>
  `:root { --accent: light-dark(${accent}, color-mix(in srgb, ${accent} 50%, white)); }`

function showHead(
  report: Report,
  title: string,
  logoUrl: string | undefined,
  names: readonly SectionName[],
): Markup {
  const { days, timezone, tag, location } = report
  const logo = logoUrl === undefined ? NOTHING : html`<img class="logo" src="${logoUrl}" alt="">`
  const only = [tag === null ? '' : `with the tag ${tag}`, location === null ? '' : `in ${location}`]
  const part = only.join('') === '' ? '' : ` · only keywords ${only.filter(Boolean).join(' ')}`
  return html`<header>${logo}<div><h1>${title}</h1>
<p>${formatDay(days[0] ?? '')} to ${formatDay(days.at(-1) ?? '')} · days of ${timezone}${part}</p></div>
</header>
<nav aria-label="Sections"><ul>${names.map((name) => html`<li><a href="#${name}">${PARTS[name][0]}</a></li>`)}
</ul>${names.includes('keywords') ? showScope(report) : NOTHING}</nav>`
}

/** What a person says first: paragraphs, headings and lists of Markdown, and nothing that acts. */
function showIntro(text: string): Markup {
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

function showFoot({ writtenAt, project }: Report): Markup {
  return html`<footer><p>Project ${project}. Written by storerank at
<time datetime="${writtenAt}">${formatMinute(new Date(writtenAt))}</time>.
Days not measured stay blank.</p></footer>`
}

interface Assets {
  readonly style: string
  /** Classic scripts, in their order. */
  readonly libraries: readonly string[]
  readonly script: string
}

const STYLES = ['theme', 'hues', 'layout', 'charts', 'tables', 'media']
const LIBRARIES = ['d3-array', 'd3-path', 'd3-shape']
const SCRIPTS = [
  ...['../../text/days', '../../text/gaps', '../points', 'captions', 'chart'],
  ...['elements', 'pointer', 'panel', 'table', 'main'].map((name) => `browser/${name}`),
]
/** What the scripts import of the libraries stands in the page by this name. */
const IMPORTED = 'const { line, nice, ticks } = d3'

let assets: Assets | undefined

function readAssets(): Assets {
  const read = (url: URL) => readFileSync(url, 'utf8')
  const own = (name: string) => read(new URL(name, import.meta.url))
  const d3 = (name: string) => read(new URL(`${name}.min.js`, import.meta.resolve(name)))
  assets ??= {
    style: [nameHues(own('style/hues.css')), ...STYLES.map((name) => own(`style/${name}.css`))].join('\n'),
    libraries: LIBRARIES.map(d3),
    // One module of several files: what one imports stands before it.
    script: [IMPORTED, ...SCRIPTS.map((name) => bare(own(`${name}.js`)))].join('\n'),
  }
  return assets
}

/** A class for each hue: lines and bars have its colour, lines its dashes, and a badge its border. */
function nameHues(hues: string): string {
  const names = [...hues.matchAll(/--(\w+):/g)].map(([, name]) => name)
  const rule = (name = '') =>
    `.${name} { --hue: var(--${name}); --dashes: var(--${name}-dashes); color: var(--hue); }`
  return names.map(rule).join('\n')
}

/** Without imports and comments. */
function bare(script: string): string {
  return script
    .replace(/\/\*\*[\s\S]*?\*\/ ?/g, '')
    .replace(/^import [\s\S]*? from '[^']*'$/gm, '')
    .replace(/\n\n+/g, '\n')
}

function hashOf(text: string): string {
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`
}
