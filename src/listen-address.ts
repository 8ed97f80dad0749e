/** Where to listen, as `storerank start --listen` and OPERATIONS_LISTEN take it. */
import { networkInterfaces } from 'node:os'
import { ConfigurationError, UnavailableError } from './errors.ts'

export interface ListenAddress {
  readonly host: string
  /** 0 takes a free one. */
  readonly port: number
}

const FORM = /^(?:(?:\[(?<bracketed>[\da-f:.]+)\]|(?<host>[\w.-]+)):)?(?<port>\d{1,5})$/i

/** Reads `8070` (on loopback), `0.0.0.0:8070` or `[::]:8070`; null for anything else. */
export function parseListenAddress(text: string): ListenAddress | null {
  const { bracketed, host = '127.0.0.1', port } = FORM.exec(text)?.groups ?? {}
  if (port === undefined || Number(port) > 65_535) return null
  return { host: bracketed ?? host, port: Number(port) }
}

/**
 * `[::]` takes IPv4 and IPv6; a machine without any address of IPv6 may refuse it, and listens by IPv4. Where
 * a sandbox such as RestrictAddressFamilies of systemd hides the addresses, it is taken at its word.
 */
export function onThisMachine(address: ListenAddress, list = networkInterfaces): ListenAddress {
  return address.host === '::' && !hasIpv6(list) ? { ...address, host: '0.0.0.0' } : { ...address }
}

function hasIpv6(list: typeof networkInterfaces): boolean {
  try {
    return Object.values(list()).some((all) => all?.some(({ family }) => family === 'IPv6'))
  } catch {
    return true
  }
}

/**
 * Another program may leave the address, and a network may come up: the unit starts again until then.
 * @param why what the system says, with its code
 */
export function refuseAddress(what: string, { host, port }: ListenAddress, why: string): Error {
  const Kind = /EADDRINUSE|EADDRNOTAVAIL/.test(why) ? UnavailableError : ConfigurationError
  return new Kind(`${what} not possible to listen on ${host}:${port}: ${why}`)
}
