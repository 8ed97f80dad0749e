/** Money as a person reads it. */

const MICROS_PER_USD = 1_000_000n
/** Below it what is rounded is exact, so that nothing that costs something is $0.00. */
const EXACT_BELOW_MICROS = 100_000
const MICROS_PER_CENT = 10_000

/**
 * Dollars of an integer amount of micro-dollars: `$0.0012`, `$5.00`, `-$0.50`.
 * @param precision `rounded`: to the cent, or as exact as they are below ten cents: `$1.20`, `$0.0012`
 */
export function formatUsd(micros: number | bigint, precision: 'exact' | 'rounded' = 'exact'): string {
  const isRounded = precision === 'rounded' && Math.abs(Number(micros)) >= EXACT_BELOW_MICROS
  const amount = BigInt(isRounded ? Math.round(Number(micros) / MICROS_PER_CENT) * MICROS_PER_CENT : micros)
  const size = amount < 0n ? -amount : amount
  const decimals = String(size % MICROS_PER_USD)
    .padStart(6, '0')
    .replace(/0{1,4}$/, '')
  return `${amount < 0n ? '-' : ''}$${size / MICROS_PER_USD}.${decimals}`
}
