/** A message within the limits of Slack, whatever names and texts of the stores are in it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type Content, type Line, toLines } from '../../src/alerts/content.ts'
import { CHATS, renderHtml, renderSlack, renderText } from '../../src/alerts/render.ts'
import { EVENT } from '../support/message.ts'

const YOGA = { keyword: 'yoga', app_id: '1001', app: 'Ashlune', before: 3, after: 9, depth: 100 }
const [LINE] = toLines([{ ...EVENT, ...YOGA, store: 'ios_store' }], 1).lines as [Line]
const CONTENT: Content = {
  type: 'alerts.found',
  at: '2026-03-09T06:00:00.000Z',
  project: 'fitness',
  title: 'storerank, fitness: 1 event',
  summary: [],
  lines: [LINE],
  rest: 0,
}
interface Block {
  readonly type: string
  readonly text: { readonly text: string }
}
const slackOf = (changes: Partial<Content>): { text: string; blocks: Block[] } =>
  JSON.parse(renderSlack({ ...CONTENT, ...changes }))

test('Slack shows every line that the summary of a week can have', () => {
  const summary = ['In one day', 'In 7 days', 'Visibility', 'Competitors', 'Gaps', 'Money']
  const shown = slackOf({ summary }).blocks.map(({ text }) => text.text)
  assert.deepEqual(shown.slice(1, 1 + summary.length), summary)
})

test('Slack takes it: 50 blocks, a header of 150, texts of 3,000 cut within no mark', () => {
  const long = fc.oneof(
    fc.string({ unit: 'grapheme', maxLength: 60 }),
    fc.constantFrom(
      '&'.repeat(3000),
      '<>'.repeat(900),
      '🧘'.repeat(2000),
      'a'.repeat(2999),
      '\u2068يوغا\u2069',
    ),
  )
  const url = fc.constantFrom(null, 'https://example.com/a?b=1', `https://example.com/${'x'.repeat(4000)}`)
  const line = fc.record({ text: long, rule: long.map((rule) => rule.slice(0, 100)), check_url: url })
  const content = fc.record({
    title: long,
    summary: fc.array(long, { maxLength: 9 }),
    lines: fc.array(line, { minLength: 40, maxLength: 40 }),
    rest: fc.nat(),
  })
  fc.assert(
    fc.property(content, ({ lines, ...rest }) => {
      const { text, blocks } = slackOf({ ...rest, lines: lines.map((each) => ({ ...LINE, ...each })) })
      assert.ok(blocks.length <= 50)
      assert.ok(text.length < 40_000)
      for (const block of blocks) {
        const shown = block.text.text
        assert.ok(shown.length <= (block.type === 'header' ? 150 : 3000), String(shown.length))
        assert.ok(shown.isWellFormed())
        if (block.type === 'section') {
          const marks = shown.replaceAll(/&(amp|lt|gt);/g, '').replace(/<https:[^<>|]+\|check it>$/, '')
          assert.doesNotMatch(marks, /[&<>]/)
        }
      }
    }),
    { numRuns: 50 },
  )
})

test('the rest is counted, with the id under which all of it is found', () => {
  const content = { ...CONTENT, rest: 3 }
  const told = "… and 3 more events: select * from alert_history where message_id = 'abc';"
  assert.ok(renderText(content, 'abc').includes(told))
  assert.ok(renderHtml(content, 'abc').includes(told.replaceAll("'", '&#39;')))
  assert.ok(renderSlack(content, 'abc').includes(told))
})

test('a page is linked only by https, and no name is taken for HTML', () => {
  const html = renderHtml({
    ...CONTENT,
    title: '<script>',
    lines: [{ ...LINE, text: '<img src=x>', check_url: 'javascript:alert(1)' }],
  })
  assert.doesNotMatch(html, /<script|<img|javascript:/)
})

test('Teams and Discord get the same, within their limits, and no name is taken for mark-up', () => {
  const lines = Array.from({ length: 40 }, () => ({ ...LINE, text: `*[x](y) @everyone ${'a'.repeat(900)}` }))
  const content = { ...CONTENT, summary: ['Visibility: 5 %.'], lines, check_url: 'https://example.com' }
  const teams = CHATS.teams(content, 'abc')
  const [attachment] = JSON.parse(teams).attachments
  assert.equal(attachment.content.type, 'AdaptiveCard')
  assert.deepEqual(attachment.content.body[1].inlines[0].text, 'Visibility: 5 %.')
  assert.match(attachment.content.body[2].inlines[1].text, /^\*\[x\]\(y\) @everyone a/)
  assert.ok(teams.length < 28_000, String(teams.length))
  const discord = JSON.parse(CHATS.discord(content, 'abc'))
  assert.deepEqual(discord.allowed_mentions, { parse: [] })
  const [{ title, description }] = discord.embeds
  assert.equal(title, CONTENT.title)
  assert.match(description, /^Visibility: 5 %\.\n\n\*\*Warning\*\* \\\*\\\[x\\\]\\\(y\\\) @everyone a/)
  assert.ok(description.length <= 4096, String(description.length))
  assert.match(description, /… and 31 more events: select \* from alert_history where message_id = 'abc';$/)
})
