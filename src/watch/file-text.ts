/**
 * The text of a file as spreadsheets write them. UTF-8 and what has a mark of its encoding at its begin are
 * certain; a file some of whose rows are UTF-8 is damaged UTF-8, and its other rows are refused. Anything
 * else is guessed from its letters (chardet), and the caller tells the person, because a keyword with the
 * wrong letters would be paid for.
 */
import { createReadStream, createWriteStream } from 'node:fs'
import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { analyse } from 'chardet'
import { ConfigurationError } from '../errors.ts'
import { whyNot } from '../trouble.ts'
import { openWorkbook } from './workbook.ts'

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
  /** Whether `encoding` was guessed. */
  readonly isGuessed: boolean
  readonly encoding: string
  readonly bytes: number
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
    if (await isArchive(name, path)) {
      const { csv, told } = await openWorkbook(name, path, size)
      const text = async function* () {
        yield csv
      }
      return { name, encoding: 'utf-8', isGuessed: false, bytes: size, told, text, dispose }
    }
    const { encoding, isGuessed } =
      given === undefined ? await findEncoding(path) : { encoding: given, isGuessed: false }
    return {
      name: name === '-' ? 'stdin' : name,
      encoding,
      isGuessed,
      bytes: size,
      told: [],
      text: () => decode(path, encoding),
      dispose,
    }
  } catch (error) {
    await dispose()
    if (error instanceof ConfigurationError) throw error
    throw new ConfigurationError(`${name} cannot be read: ${whyNot(error)}.`, { cause: error })
  }
}

/** As workbooks are. Refuses what is neither one nor text. */
async function isArchive(name: string, path: string): Promise<boolean> {
  for await (const chunk of createReadStream(path, { end: 3 })) {
    const begin = (chunk as Buffer).toString('hex')
    const found = NO_TEXT.find(([bytes]) => begin.startsWith(bytes))
    if (found !== undefined) throw new ConfigurationError(`${name} cannot be read: ${found[1]}.`)
    if (begin === '504b0304') return true
  }
  return false
}

/** Without byte order marks: each of files that were put together has one. */
async function* decode(path: string, encoding: string): AsyncIterable<string> {
  const decoder = new TextDecoder(encoding)
  for await (const chunk of createReadStream(path))
    yield decoder.decode(chunk as Buffer, { stream: true }).replaceAll('\ufeff', '')
  yield decoder.decode()
}

async function findEncoding(path: string): Promise<{ encoding: string; isGuessed: boolean }> {
  const check = new Utf8Check()
  let sample = Buffer.alloc(0)
  let isFirst = true
  for await (const each of createReadStream(path)) {
    const chunk = each as Buffer
    const marked = isFirst ? findMark(chunk) : null
    if (marked !== null) return { encoding: marked, isGuessed: false }
    isFirst = false
    if (sample.length > 0 || !isPlain(chunk)) {
      sample = Buffer.concat([sample, chunk.subarray(0, Math.max(0, SAMPLE_BYTES - sample.length))])
    }
    check.add(chunk)
    if (!check.isUtf8 && sample.length >= SAMPLE_BYTES) break
  }
  check.end()
  return judge(path, sample, check.isUtf8)
}

async function judge(path: string, sample: Buffer, isWhole: boolean) {
  // In text many zero bytes are halves of letters of UTF-16; a single one is damage.
  const zeros = sample.reduce((count, byte) => count + Number(byte === 0), 0)
  if (zeros > sample.length * ZERO_SHARE)
    return { encoding: sample[0] === 0 ? 'utf-16be' : 'utf-16le', isGuessed: true }
  const guessed = isWhole ? 'utf-8' : guess(sample)
  const isUtf8 = isWhole || (await isDamagedUtf8(path, guessed))
  return { encoding: isUtf8 ? 'utf-8' : guessed, isGuessed: !isUtf8 }
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

/** Letters of ASCII alone say nothing of an encoding. */
function isPlain(chunk: Buffer): boolean {
  return !chunk.some((byte) => byte > 0x7f || byte === 0)
}

class Utf8Check {
  readonly #decoder = new TextDecoder('utf-8', { fatal: true })
  isUtf8 = true

  add(chunk: Buffer): void {
    this.#try(() => this.#decoder.decode(chunk, { stream: true }))
  }

  /** A letter that the end of the file cuts is none. */
  end(): void {
    this.#try(() => this.#decoder.decode())
  }

  #try(decode: () => string): void {
    try {
      if (this.isUtf8) decode()
    } catch {
      this.isUtf8 = false
    }
  }
}

function findMark(head: Buffer): string | null {
  if (head[0] === 0xff && head[1] === 0xfe) return 'utf-16le'
  return head[0] === 0xfe && head[1] === 0xff ? 'utf-16be' : null
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
