/**
 * Where alerts may be sent. The rows of alert_channel are written by people who need not be the operator, so
 * that an address of the operator's own network has to be allowed by name. A name is looked up once, and the
 * connection goes to the address that was checked: what a name server says a moment later changes nothing.
 */
import { lookup as lookUp } from 'node:dns'
import { BlockList, isIP, type LookupFunction } from 'node:net'
import { ConfigurationError } from '../errors.ts'

const INTERNAL = new BlockList()
for (const [address, bits] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 3],
] as const) {
  INTERNAL.addSubnet(address, bits, 'ipv4')
}
/**
 * Outside of these, an IPv6 address is not of the internet: loopback, link-local, private, multicast, mapped
 * and translated ones.
 */
const GLOBAL = new BlockList()
GLOBAL.addSubnet('2000::', 3, 'ipv6')
/** Documentation, tunnels and translations, which hold other addresses. */
for (const [address, bits] of [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
] as const) {
  INTERNAL.addSubnet(address, bits, 'ipv6')
}
const LOOPBACK = new BlockList()
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4')
LOOPBACK.addAddress('::1', 'ipv6')

/** Whether an address is one of the internet, and none of a private, link-local or other special network. */
export function isPublicAddress(address: string): boolean {
  const family = isIP(address)
  if (family === 4) return !INTERNAL.check(address, 'ipv4')
  return family === 6 && GLOBAL.check(address, 'ipv6') && !INTERNAL.check(address, 'ipv6')
}

export interface CheckedAddress {
  readonly url: URL
  /** Resolves the name of the URL to an address that may be connected to, or fails. */
  readonly lookup: LookupFunction
}

/**
 * @param allowedHosts names and addresses that the operator allows although they are private
 * @param resolve for tests: what a name server says
 * @throws ConfigurationError when nothing may be sent there; it never shows the address, which may be a
 *   secret
 */
export function checkAddress(
  text: string,
  allowedHosts: readonly string[],
  resolve: typeof lookUp = lookUp,
): CheckedAddress {
  const url = URL.parse(text)
  if (url === null) throw new ConfigurationError('The address is no URL.')
  if (url.username !== '' || url.password !== '')
    throw new ConfigurationError('The address must not hold a login or a password.')
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '')
  const isLoopback = host === 'localhost' || isLoopbackAddress(host)
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && isLoopback))
    throw new ConfigurationError('The address must be https, or http on loopback.')
  const isAllowed = allowedHosts.includes(host)
  const check = (address: string) =>
    isAllowed || (isLoopback ? isLoopbackAddress(address) : isPublicAddress(address))
  if (isIP(host) !== 0 && !check(host)) throw refuse(host)
  const lookup: LookupFunction = (name, options, callback) => {
    resolve(name, { ...options, all: true }, (error, addresses) => {
      const [first] = addresses ?? []
      if (error !== null || first === undefined) {
        callback(error ?? new Error(`The name ${name} has no address.`), '', 0)
      } else if (!addresses.every(({ address }) => check(address))) callback(refuse(name), '', 0)
      else if (options.all) callback(null, addresses)
      else callback(null, first.address, first.family)
    })
  }
  return { url, lookup }
}

function isLoopbackAddress(address: string): boolean {
  const family = isIP(address)
  return family !== 0 && LOOPBACK.check(address, family === 4 ? 'ipv4' : 'ipv6')
}

function refuse(host: string): ConfigurationError {
  return new ConfigurationError(
    `The host ${host} is in a private or link-local network, where alerts are sent only if the setting ` +
      'PRIVATE_ALERT_HOSTS names it.',
  )
}
