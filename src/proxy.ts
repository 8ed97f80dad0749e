/**
 * The way to other machines by HTTPS: straight, or by the proxy of HTTPS_PROXY, which carries what TLS has
 * encrypted. Loopback and what NO_PROXY names are always called straight, and so are the database and the
 * mail server.
 */
import { Agent, type buildConnector, type Dispatcher, Pool, ProxyAgent } from 'undici'
import { ProxyError } from './errors.ts'
import type { Secret } from './secret.ts'
import { isLoopback } from './setting.ts'

export interface ProxySettings {
  readonly url: Secret | null
  /** Hosts to which the way is straight, as in NO_PROXY. */
  readonly bypass: string
}

export const NO_PROXY: ProxySettings = { url: null, bypass: '' }

/** The address of the proxy by which a URL is called; null: straight. Pure. */
export function proxyOf(url: URL, { url: proxy, bypass }: ProxySettings): string | null {
  if (proxy === null || url.protocol !== 'https:' || isLoopback(url)) return null
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '')
  const names = ['*', ...host.split('.').map((_, index, labels) => labels.slice(index).join('.'))]
  const ends = bypass
    .toLowerCase()
    .split(/[\s,]+/)
    .map((entry) => entry.replace(/^\*?\.(?=.)/, '').replace(/^\[(.*)\]/, '$1'))
  const isStraight = names.some((name) => ends.includes(name) || ends.includes(`${name}:${url.port || 443}`))
  return isStraight ? null : proxy.reveal()
}

/**
 * Connections through the proxy. The caller closes it.
 * @param options of undici's ProxyAgent, and of the connections to the other side
 */
export function openProxy(uri: string, options: Omit<ProxyAgent.Options, 'uri'> = {}): ProxyAgent {
  return new ProxyAgent({ ...options, uri, clientFactory: connectToProxy })
}

/** Connections to where a URL leads, by the way that the settings say. The caller destroys it. */
export function openWay(url: URL, settings: ProxySettings): Dispatcher {
  const proxy = proxyOf(url, settings)
  return proxy === null ? new Agent() : openProxy(proxy)
}

/** What keeps the proxy itself from being reached is told apart from what is of the other side. */
function connectToProxy(origin: URL, { connect }: { connect?: buildConnector.connector }): Dispatcher {
  const told: buildConnector.connector = (options, done) =>
    connect?.(options, (...[error, socket]) =>
      error === null ? done(null, socket) : done(new ProxyError(error.message, { cause: error }), null),
    )
  return new Pool(origin, { connect: told })
}
