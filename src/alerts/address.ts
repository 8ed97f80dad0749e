/**
 * Where alerts may be sent. The rows of alert_channel are written by people who need not be the operator, so
 * that an address of the operator's own network has to be allowed by name. A name is looked up once, and the
 * connection goes to the address that was checked: what a name server says a moment later changes nothing.
 */
import { lookup as lookUp } from 'node:dns'
import { BlockList, isIP, type LookupFunction } from 'node:net'
import { ConfigurationError } from '../errors.ts'

const INTERNAL = listOf(
  '0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 ' +
    '192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/3 ' +
    // For protocols and documentation.
    '2001::/23 2001:db8::/32 3fff::/20',
)
/** Outside of these, an IPv6 address is loopback, link-local, private or multicast. */
const GLOBAL = listOf('2000::/3')

/**
 * What leads to an IPv4 address that is written in it is judged by that one: mapped addresses, NAT64
 * (RFC 6052, RFC 8215), 6to4 and Teredo, whose client is written with its bits turned over behind its server.
 */
const HOLDS_IPV4: readonly (readonly [BlockList, readonly ((bytes: readonly number[]) => number[])[]])[] = [
  [listOf('::ffff:0:0/96 64:ff9b::/96'), [(bytes) => bytes.slice(12)]],
  // A network may write it further to the front as well, and then zeros at the end, which are refused.
  [listOf('64:ff9b:1::/48'), [(bytes) => (bytes.slice(13).some(Boolean) ? bytes.slice(12) : [0, 0, 0, 0])]],
  [listOf('2002::/16'), [(bytes) => bytes.slice(2, 6)]],
  [listOf('2001::/32'), [(bytes) => bytes.slice(4, 8), (bytes) => bytes.slice(12).map((byte) => byte ^ 255)]],
]
const LOOPBACK = listOf('::1/128 127.0.0.0/8')

function listOf(networks: string): BlockList {
  const list = new BlockList()
  for (const network of networks.split(' ')) {
    const [address = '', bits] = network.split('/')
    list.addSubnet(address, Number(bits), address.includes(':') ? 'ipv6' : 'ipv4')
  }
  return list
}

/** Whether an address is one of the internet, and none of a private, link-local or other special network. */
export function isPublicAddress(address: string): boolean {
  const family = isIP(address)
  if (family === 4) return !INTERNAL.check(address, 'ipv4')
  if (family === 0 || address.includes('%')) return false
  const [, readers] = HOLDS_IPV4.find(([list]) => list.check(address, 'ipv6')) ?? []
  if (readers === undefined) return GLOBAL.check(address, 'ipv6') && !INTERNAL.check(address, 'ipv6')
  const bytes = toBytes(address)
  return readers.every((read) => isPublicAddress(read(bytes).join('.')))
}

/** The sixteen bytes of an IPv6 address, which a URL writes in groups of hexadecimal digits alone. */
function toBytes(address: string): number[] {
  const [before = '', after] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::')
  const [first, last] = [before, after ?? ''].map((text) => text.split(':').filter((group) => group !== ''))
  const missing = 8 - (first?.length ?? 0) - (last?.length ?? 0)
  return [...(first ?? []), ...Array<string>(missing).fill('0'), ...(last ?? [])].flatMap((group) => {
    const value = Number.parseInt(group, 16)
    return [value >> 8, value & 255]
  })
}

/**
 * @param allowedHosts names and addresses that the operator allows although they are private
 * @param resolve for tests: what a name server says
 * @returns whether the operator allows it by name, wherever that leads; and a lookup of its name that fails
 *   where an address must not be connected to
 * @throws ConfigurationError when nothing may be sent there; it never shows the address, which may be a
 *   secret
 */
export function checkAddress(
  text: string,
  allowedHosts: readonly string[],
  resolve: typeof lookUp = lookUp,
): { url: URL; isAllowed: boolean; lookup: LookupFunction } {
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
    isAllowed ? !isLoopback || isLoopbackAddress(address) : isPublicAddress(address)
  if (isLoopback ? !isAllowed : isIP(host) !== 0 && !check(host)) throw refuse(host)
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
  return { url, isAllowed, lookup }
}

function isLoopbackAddress(address: string): boolean {
  const family = isIP(address)
  return family !== 0 && LOOPBACK.check(address, family === 4 ? 'ipv4' : 'ipv6')
}

function refuse(host: string): ConfigurationError {
  return new ConfigurationError(
    `The host ${host} is on loopback, or in a private or link-local network, where alerts are sent only ` +
      'if the setting PRIVATE_ALERT_HOSTS names it.',
  )
}
