/**
 * The text of a file as spreadsheets write them. UTF-8 and what has a mark of its encoding at its begin are
 * certain; a file some of whose rows are UTF-8 is damaged UTF-8, and its other rows are refused. Anything
 * else is guessed from its letters (chardet), and the caller tells the person, because a keyword with the
 * wrong letters would be paid for.
 */
import { isAscii } from 'node:buffer'
import { createReadStream, createWriteStream } from 'node:fs'
import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { analyse } from 'chardet'
import { stringify } from 'csv-stringify/sync'
import readWorkbook from 'read-excel-file/node'
import { ConfigurationError } from '../errors.ts'
import { whyNot } from '../trouble.ts'

/** What the guess is made from: enough letters, and not the whole of a large file. */
const SAMPLE_BYTES = 65_536
/** Below it, the guess is no better than what spreadsheets of the West write. */
const SURE_PERCENT = 50
const LATIN = 'windows-1252'
/** Of the bytes of UTF-16 more are zero, as names of columns, numbers and separators are ASCII. */
const ZERO_SHARE = 0.1
/** Of the lines of a file in an encoding of East Asia, those that are also UTF-8 by chance are fewer. */
const CHANCE_SHARE = 0.25

export interface WatchFile {
  readonly name: string
  readonly isGuessed: boolean
  readonly encoding: string
  /** What is left out of it. */
  readonly told: readonly string[]
  /** Piece by piece, so that the memory does not grow with the file. */
  text(): AsyncIterable<string>
}

/** What is no text, by its first bytes, and what to do. */
const NO_TEXT: readonly (readonly [begin: string, remedy: string])[] = [
  ['d0cf11e0', 'it is a workbook of an old Excel, or has a password: save the sheet as "CSV UTF-8"'],
  ['1f8b', 'it is compressed: unpack it first, or pipe it in (`gunzip -c … | storerank import -`)'],
]
/** An archive, as workbooks (.xlsx) are. */
const WORKBOOK = '504b0304'
const MOST_WORKBOOK_BYTES = 20_000_000
const MARKS = [
  ['fffe', 'utf-16le'],
  ['feff', 'utf-16be'],
] as const

/**
 * A file, or `-`: stdin. What can be read but once is kept in a temporary file until `dispose`, because a
 * guess reads it twice.
 * @param given the encoding, where a person knows it
 */
export async function openWatchFile(
  name: string,
  given?: string,
): Promise<WatchFile & { dispose(): Promise<void> }> {
  const isPipe = name === '-' || ((await stat(name).catch(() => null))?.isFIFO() ?? false)
  const folder = isPipe ? await mkdtemp(join(tmpdir(), 'storerank-import-')) : null
  const path = folder === null ? name : join(folder, 'stdin.csv')
  const dispose = async () => {
    if (folder !== null) await rm(folder, { recursive: true, force: true })
  }
  try {
    if (folder !== null) {
      const input = name === '-' ? process.stdin : createReadStream(name)
      await pipeline(input, createWriteStream(path, { mode: 0o600 }))
    }
    const { size } = await stat(path)
    const begin = await readBegin(path)
    const [, remedy] = NO_TEXT.find(([bytes]) => begin.startsWith(bytes)) ?? []
    if (remedy !== undefined) throw new ConfigurationError(`${name} cannot be read: ${remedy}.`)
    if (begin === WORKBOOK) {
      const { csv, told } = await openWorkbook(name, path, size)
      const text = () => Readable.from([csv])
      return { name, encoding: 'utf-8', isGuessed: false, told, text, dispose }
    }
    const found =
      given === undefined ? await findEncoding(path, begin) : { encoding: given, isGuessed: false }
    const text = () => decode(path, found.encoding)
    return { name: name === '-' ? 'stdin' : name, ...found, told: [], text, dispose }
  } catch (error) {
    await dispose()
    if (error instanceof ConfigurationError) throw error
    throw new ConfigurationError(`${name} cannot be read: ${whyNot(error)}.`, { cause: error })
  }
}

async function readBegin(path: string): Promise<string> {
  for await (const chunk of createReadStream(path, { end: 3 })) return (chunk as Buffer).toString('hex')
  return ''
}

/** Without byte order marks: each of files that were put together has one. */
async function* decode(path: string, encoding: string, fatal = false): AsyncIterable<string> {
  const decoder = new TextDecoder(encoding, { fatal })
  for await (const chunk of createReadStream(path))
    yield decoder.decode(chunk as Buffer, { stream: true }).replaceAll('\ufeff', '')
  yield decoder.decode()
}

async function findEncoding(path: string, begin: string): Promise<{ encoding: string; isGuessed: boolean }> {
  const mark = MARKS.find(([bytes]) => begin.startsWith(bytes))
  if (mark !== undefined) return { encoding: mark[1], isGuessed: false }
  const sample = await readSample(path)
  // In text many zero bytes are halves of letters of UTF-16; a single one is damage.
  const zeros = sample.filter((byte) => byte === 0).length
  if (zeros > sample.length * ZERO_SHARE)
    return { encoding: sample[0] === 0 ? 'utf-16be' : 'utf-16le', isGuessed: true }
  if (await isUtf8(path)) return { encoding: 'utf-8', isGuessed: false }
  const guessed = guess(sample)
  const isDamaged = await isDamagedUtf8(path, guessed)
  return { encoding: isDamaged ? 'utf-8' : guessed, isGuessed: !isDamaged }
}

/** From the first letters on that are none of ASCII, which alone say nothing of an encoding. */
async function readSample(path: string): Promise<Buffer> {
  let sample = Buffer.alloc(0)
  for await (const each of createReadStream(path)) {
    const chunk = each as Buffer
    if (sample.length === 0 && isAscii(chunk) && !chunk.includes(0)) continue
    sample = Buffer.concat([sample, chunk])
    if (sample.length >= SAMPLE_BYTES) break
  }
  return sample.subarray(0, SAMPLE_BYTES)
}

async function isUtf8(path: string): Promise<boolean> {
  try {
    for await (const _ of decode(path, 'utf-8', true));
    return true
  } catch (error) {
    if (error instanceof TypeError) return false
    throw error
  }
}

/**
 * Whether lines are UTF-8. In the encoding of the West one of its letters proves that: there it would be "Ã"
 * and a sign. Others prove nothing ("É®" is one by chance), unless half of the lines have them; in another
 * encoding of one byte a letter a line of them does. In those of East Asia short lines are UTF-8 by chance,
 * but never so many.
 */
async function isDamagedUtf8(path: string, guessed: string): Promise<boolean> {
  const isOfManyBytes = /^(gb|big5|euc|shift|iso-2022)/.test(guessed)
  const least = guessed === LATIN ? 0.5 : isOfManyBytes ? CHANCE_SHARE : 0
  let lines = 0
  let ofUtf8 = 0
  let isProven = false
  const look = (line: string) => {
    const letters = line.match(/\P{ASCII}/gu) ?? []
    const whole = letters.filter((letter) => letter !== '\ufffd').length
    if (letters.length > 0) lines += 1
    if (whole > letters.length / 2) ofUtf8 += 1
    isProven ||= guessed === LATIN ? /[À-ÿ]/.test(line) : least === 0 && ofUtf8 > 0
  }
  let begun = ''
  for await (const text of decode(path, 'utf-8')) {
    const ended = (begun + text).split(/[\r\n]/)
    begun = ended.pop()?.slice(-SAMPLE_BYTES) ?? ''
    ended.forEach(look)
    if (isProven) return true
  }
  look(begun)
  return isProven || (ofUtf8 > 0 && ofUtf8 >= lines * least)
}

/**
 * The likeliest that Node can read; of the West by the name of Microsoft's, which has what ISO 8859-1 has and
 * more.
 */
function guess(sample: Buffer): string {
  for (const { name, confidence } of analyse(sample)) {
    if (confidence < SURE_PERCENT || /^ISO-8859-1$/i.test(name)) break
    if (/^(UTF-8|ASCII)$/i.test(name)) continue
    try {
      return new TextDecoder(name).encoding
    } catch {
      // Node has no such decoder: the next likeliest.
    }
  }
  return LATIN
}

/** The first sheet of a workbook as the text of a CSV file. It is read as a whole. */
async function openWorkbook(name: string, path: string, bytes: number) {
  const refuse = (reason: string, cause?: unknown) =>
    new ConfigurationError(`${name} cannot be read: ${reason}: save the sheet as "CSV UTF-8".`, { cause })
  if (bytes > MOST_WORKBOOK_BYTES) throw refuse('it is a workbook of more than 20 MB')
  // Numbers as they stand there: the id of an app is one.
  const parseNumber = (text: string) => (/e/i.test(text) ? String(Number(text)) : text)
  const sheets = await readWorkbook(path, { parseNumber }).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).syscall !== undefined) throw error
    throw refuse('it is an archive, and no workbook of Excel', error)
  })
  const filled = sheets.filter(({ data }) => data.length > 0)
  const [first, ...others] = filled
  if (first === undefined) throw refuse('no sheet of it has a cell')
  const rows = first.data.map((row) => row.map((cell) => toText(cell)))
  const left = others.map(({ sheet }) => JSON.stringify(sheet)).join(', ')
  const told =
    left === '' ? [] : [`${name}: the sheet ${JSON.stringify(first.sheet)} is read. Left out: ${left}.`]
  return { csv: stringify(rows, { quoted_match: /^\s|\s$/ }), told }
}

/** A day without its time, which a sheet does not have. */
function toText(cell: unknown): string {
  if (cell instanceof Date) return cell.toISOString().replace(/T00:00:00\.000Z$/, '')
  return cell === null || cell === undefined ? '' : String(cell)
}
