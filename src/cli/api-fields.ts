/** The `name=value` arguments of `storerank api`, read by the names and forms of the specification. */
import { ConfigurationError } from '../errors.ts'
import { readTimestamp } from '../service/fields.ts'
import { didYouMean } from '../suggest.ts'

/** Each endpoint reads the names that it takes; names that were not read are refused at the end. */
export class Fields {
  readonly #endpoint: string
  readonly #given = new Map<string, string[]>()
  readonly #known = new Set<string>()

  /** @throws ConfigurationError, as every method does, with a sentence that names the field */
  constructor(endpoint: string, args: readonly string[]) {
    this.#endpoint = endpoint
    for (const argument of args) {
      const at = argument.indexOf('=')
      if (at < 1)
        throw new ConfigurationError(`A field is given as name=value; ${JSON.stringify(argument)} is not.`)
      const name = argument.slice(0, at)
      this.#given.set(name, [...(this.#given.get(name) ?? []), argument.slice(at + 1)])
    }
  }

  all(name: string): string[] {
    this.#known.add(name)
    return this.#given.get(name) ?? []
  }

  text(name: string): string | undefined {
    const [value, ...more] = this.all(name)
    if (more.length > 0) throw new ConfigurationError(`${name} is given more than once.`)
    return value
  }

  need(name: string): string {
    const value = this.text(name)
    if (value === undefined) throw new ConfigurationError(`${this.#endpoint} needs ${name}=….`)
    return value
  }

  number(name: string): number | undefined {
    const value = this.text(name)
    if (value === undefined) return undefined
    if (/^-?\d{1,15}$/.test(value)) return Number(value)
    throw new ConfigurationError(`${name} must be a whole number; it is ${JSON.stringify(value)}.`)
  }

  instant(name: string): Date | undefined {
    const value = this.text(name)
    if (value === undefined) return undefined
    const instant = readTimestamp(value)
    if (instant !== null) return instant
    throw new ConfigurationError(
      `${name} must be a time such as "2026-01-31 04:05:06 +00:00"; it is ${JSON.stringify(value)}.`,
    )
  }

  /** A list, as JSON. */
  json(name: string): readonly unknown[] | undefined {
    const value = this.text(name)
    if (value === undefined) return undefined
    try {
      const list: unknown = JSON.parse(value)
      if (Array.isArray(list)) return list
    } catch {}
    throw new ConfigurationError(
      `${name} must be a list as JSON, such as ["item.rating.value",">",4]; it is ${JSON.stringify(value)}.`,
    )
  }

  oneOf<Value extends string>(name: string, values: readonly Value[]): Value | undefined {
    const value = this.text(name)
    const known = values.find((allowed) => allowed === value)
    if (value === undefined || known !== undefined) return known
    throw new ConfigurationError(`${name} must be ${values.join(' or ')}; it is ${JSON.stringify(value)}.`)
  }

  refuseRest(): void {
    const known = [...this.#known]
    const stranger = [...this.#given.keys()].find((name) => !this.#known.has(name))
    if (stranger === undefined) return
    const takes = known.length === 0 ? 'no fields' : known.join(', ')
    throw new ConfigurationError(
      `${stranger} is no field of ${this.#endpoint}, which takes ${takes}.${didYouMean(stranger, known)}`,
    )
  }
}
