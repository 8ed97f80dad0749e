/** Where to listen, as `storerank start --listen` and OPERATIONS_LISTEN take it. */
import { networkInterfaces } from 'node:os'

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

/** `[::]` takes IPv4 and IPv6; a machine without any address of IPv6 may refuse it, and listens by IPv4. */
export function onThisMachine(address: ListenAddress, interfaces = networkInterfaces()): ListenAddress {
  const hasIpv6 = Object.values(interfaces).some((all) => all?.some(({ family }) => family === 'IPv6'))
  return address.host === '::' && !hasIpv6 ? { ...address, host: '0.0.0.0' } : { ...address }
}
