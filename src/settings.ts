/**
 * Every setting, once: what reads it, its default, what it is for, whether it is secret. `Config`, refusals,
 * the file that `storerank init` writes and the table in docs/operations.md follow from this (config.ts,
 * env-template.ts).
 */
import { resolve } from 'node:path'
import { z } from 'zod'
import { parseDatabaseUrl } from './database-url.ts'
import { ConfigurationError } from './errors.ts'
import { parseListenAddress } from './listen-address.ts'
import { LOG_LEVELS } from './log.ts'
import { Secret } from './secret.ts'
import { readStoreNames } from './service/dialect.ts'
import {
  duration,
  type Group,
  isSafe,
  listSettings,
  rule,
  type Shape,
  setting,
  usd,
  type Values,
  webUrl,
  wholeNumber,
} from './setting.ts'
import { TIMINGS } from './timings.ts'

/** Longer than TCP may deliver what its sender gave up (docs/protocol.md: What is not promised). */
export const RECONCILE_QUIET_DEFAULT = '20m'
/** Work is kept for 90 days, and looks up its history and its charges. */
const SHORTEST_KEEP = '92d'
const LONGEST_KEEP = '36500d'

/** In the order in which a person meets them. */
export const GROUPS: Group[] = []

/** A chapter: its settings get their values in `Config` under the names of the shape. */
function group<S extends Shape>(title: string, shape: S, note?: string): S {
  GROUPS.push({ title, shape, ...(note === undefined ? {} : { note }) })
  return shape
}

const path = () => z.string().transform((file) => resolve(file))

export const SETTINGS = {
  ...group('Database', {
    databaseUrl: setting('DATABASE_URL', {
      help: 'PostgreSQL 15 or later, in UTF8, for storerank alone. Without it: an embedded one.',
      schema: z.string().transform((text, context) => {
        try {
          parseDatabaseUrl(text)
          return new Secret(text)
        } catch (error) {
          if (!(error instanceof ConfigurationError)) throw error
          context.addIssue(error.message)
          return z.NEVER
        }
      }),
      example: 'postgres://storerank:password@db.example.com/storerank?sslmode=verify-full',
      secret: 'in part',
    }),
    databaseConnections: setting('DATABASE_CONNECTIONS', {
      help: 'Connections that `run` or `start` has at once, of each process; `start` on two machines, twice.',
      schema: wholeNumber(TIMINGS.fewestConnections, 100),
      default: '28',
      prefix: 'DATABASE_CONN',
    }),
  }),

  ...group(
    'App Data Service',
    {
      service: {
        url: setting('APP_DATA_URL', {
          help: 'Its address. Without it: the sandbox, whose apps, ranks and money are invented.',
          schema: rule(
            'must be the address of the service such as https://api.example.com: https (http only on ' +
              'loopback), without login, query or the /v3 that begins every path',
            (text) => {
              const url = URL.parse(text)
              if (url === null || !isSafe(url)) return null
              const address = url.origin + url.pathname.replace(/\/+$/, '')
              const isBare = [url.username, url.password, url.search, url.hash].every((part) => part === '')
              return isBare && !address.endsWith('/v3') ? address : null
            },
          ),
          example: 'https://api.dataforseo.com',
          prefix: 'APP_DATA_',
        }),
        /** One that is refused has a colon in it, and most likely the password behind it. */
        login: setting('APP_DATA_LOGIN', {
          help: 'The login of your account.',
          schema: rule('must not contain a colon, which ends the login in Basic authentication', (text) =>
            text.includes(':') ? null : text,
          ),
          example: 'you@example.com',
          secret: 'in part',
        }),
        passwordFile: setting('APP_DATA_PASSWORD_FILE', {
          help: 'A file that holds the password and nothing else.',
          schema: z.string(),
          example: '/run/secrets/app-data',
        }),
        password: setting('APP_DATA_PASSWORD', {
          help: 'The password itself, instead of a file.',
          schema: z.string(),
          secret: 'whole',
          keepsSpaces: true,
        }),
        stores: setting('APP_DATA_STORES', {
          help:
            'What its paths call the two stores, where it has another address than DataForSEO or ' +
            'DataForApps gave it.',
          schema: rule(
            'must be what the paths of the service call the iOS store and the Android store, ' +
              'such as apple,google',
            readStoreNames,
          ),
          example: 'apple,google',
        }),
      },
    },
    'The App Data API of DataForSEO, which DataForApps sells too. ' +
      'A keyword costs $0.0012 for each 100 results (Android: 30).',
  ),

  ...group('Money, in dollars, over all projects', {
    budget: {
      maxDayMicros: setting('MAX_USD_PER_DAY', {
        help: 'The most that is spent in a day (UTC). A warning comes at 80 %.',
        schema: usd(),
        default: '5',
        prefix: 'MAX_USD',
      }),
      maxMonthMicros: setting('MAX_USD_PER_MONTH', {
        help: 'The most that is spent in a month. Without it: no limit by month.',
        schema: usd(),
        example: '100',
      }),
      maxRunMicros: setting('MAX_USD_PER_RUN', {
        help: 'The most that one plan may reserve. Without it: as far as the other budgets reach.',
        schema: usd(),
        example: '1',
      }),
    },
  }),

  ...group('Network', {
    proxy: {
      url: setting('HTTPS_PROXY', {
        help:
          'A proxy by which the service, receivers and the heartbeat are called where they are https. ' +
          'Database and mail are not.',
        schema: webUrl('must be the address of a proxy such as http://proxy.internal:3128'),
        example: 'http://login:password@proxy.internal:3128',
        secret: 'in part',
        isCommon: true,
      }),
      bypass: setting('NO_PROXY', {
        help: 'Hosts that are called straight, with commas between. Loopback always is.',
        schema: z.string(),
        default: '',
        example: '.internal,10.0.0.1',
        isCommon: true,
      }),
    },
  }),

  ...group('Watching it', {
    operationsListen: setting('OPERATIONS_LISTEN', {
      help: 'Where `start` answers /healthz, /readyz and /metrics; a port alone is on loopback.',
      schema: rule(
        'must be a port such as 9090, which is on loopback, or host and port such as 0.0.0.0:9090',
        parseListenAddress,
      ),
      example: '9090',
    }),
    heartbeatUrl: setting('HEARTBEAT_URL', {
      help: 'Called after each successful `run`, and each minute by a `start` that is well.',
      schema: webUrl('must be an address that a GET of http or https may be sent to'),
      example: 'https://beats.example.com/your-id',
      secret: 'whole',
    }),
    logLevel: setting('LOG_LEVEL', {
      help: `One of ${LOG_LEVELS.join(', ')}.`,
      schema: z.enum(LOG_LEVELS, { error: `must be one of ${LOG_LEVELS.join(', ')}` }),
      default: 'info',
    }),
  }),

  ...group(
    'Alerts (docs/alerts.md)',
    {
      alerts: {
        smtpUrl: setting('SMTP_URL', {
          help: 'The mail server for channels of kind email.',
          schema: rule(
            'must be the address of a mail server such as smtps://login:password@mail.example.com or ' +
              'smtp://mail.example.com:587',
            (text) => {
              const url = URL.parse(text)
              const isBare = url?.search === '' && ['', '/'].includes(url.pathname) && url.hostname !== ''
              return isBare && /^smtps?:$/.test(url.protocol) ? new Secret(text) : null
            },
          ),
          example: 'smtps://login:password@mail.example.com',
          secret: 'in part',
        }),
        smtpFrom: setting('SMTP_FROM', {
          help: 'The sender of these mails.',
          schema: rule('must be the address from which alerts are sent, such as ranks@example.com', (text) =>
            /^[^\s@<>]+@[^\s@<>]+$|^[^<>@\r\n]+ <[^\s@<>]+@[^\s@<>]+>$/.test(text) ? text : null,
          ),
          example: 'ranks@example.com',
        }),
        privateHosts: setting('PRIVATE_ALERT_HOSTS', {
          help: 'Hosts of loopback and private networks that webhooks may be sent to, with commas between.',
          schema: rule('must be names of hosts, or addresses, with commas between', (text) => {
            const hosts = text === '' ? [] : text.split(',').map((host) => host.trim().toLowerCase())
            return hosts.every((host) => /^[a-z0-9._:-]+$/.test(host)) ? hosts : null
          }),
          default: '',
          example: 'chat.internal',
        }),
      },
    },
    'Secrets that channels name are variables of yours that begin with ALERT_.',
  ),

  ...group('Reports', {
    reports: {
      folder: setting('REPORT_DIR', {
        help: 'A folder for the pages of all projects. Whoever may read it may read them.',
        schema: path(),
        example: '/var/www/ranks',
      }),
      title: setting('REPORT_TITLE', {
        help: "Stands before the project's name on each page.",
        schema: rule('must have 200 letters at most', (text) => (text.length <= 200 ? text : null)),
        example: 'Acme',
      }),
      logo: setting('REPORT_LOGO', {
        help: 'A picture beside the title.',
        schema: path(),
        example: '/etc/storerank/logo.svg',
      }),
    },
  }),

  ...group('Results that the service delivers (above about a thousand tasks a minute)', {
    postbackUrl: setting('POSTBACK_URL', {
      help:
        'Where the service delivers results: https, ending in a secret of 24 letters and digits or more ' +
        '(`openssl rand -hex 24`). Without it they are fetched.',
      schema: rule(
        'must be the address at which the service reaches `storerank start --listen`, such as ' +
          'https://ranks.example.com/hooks/ and a secret: https (http only on loopback), without login, ' +
          'query or fragment, ending in 24 or more letters, digits, - or _ as `openssl rand -hex 24` makes ' +
          'them',
        (text) => {
          const url = URL.parse(text)
          if (url === null || !isSafe(url)) return null
          const isBare = url.href === url.origin + url.pathname
          return isBare && /\/[\w-]{24,}$/.test(url.pathname) ? new Secret(url.href) : null
        },
      ),
      example: 'https://ranks.example.com/hooks/secret',
      secret: 'whole',
    }),
  }),

  ...group('Pace and patience: the defaults are right for nearly everybody', {
    /** The service's own limits (spec: Limits; docs/service.md: too many requests at once). */
    callsPerMinute: setting('CALLS_PER_MINUTE', {
      help: 'Calls of the service in any minute, over all runners on the database.',
      schema: wholeNumber(1, 2000),
      default: '2000',
      prefix: 'CALLS_PER',
    }),
    maxConcurrentRequests: setting('MAX_CONCURRENT_REQUESTS', {
      help: 'Calls at once, over all runners on the database.',
      schema: wholeNumber(1, 30),
      default: '30',
      prefix: 'MAX_CONCURRENT',
    }),
    maxAttempts: setting('MAX_ATTEMPTS', {
      help: 'How often a task is posted that the service itself fails.',
      schema: wholeNumber(1, 10),
      default: '3',
      prefix: 'MAX_ATTEMPTS',
    }),
    /** The ready lists have tasks of three days: one asked for later is on no list meanwhile. */
    overdueAfterMs: setting('OVERDUE_AFTER', {
      help: 'How long a result is awaited on the ready lists before it is asked for by the id of its task.',
      schema: duration('3d'),
      default: '45m',
      prefix: 'OVERDUE_',
    }),
    reconcileQuietMs: setting('RECONCILE_QUIET', {
      help:
        'How long a post whose answer was lost is looked for before it is posted again; ' +
        '20m at least, unless the service is on loopback.',
      schema: duration('1d'),
      default: RECONCILE_QUIET_DEFAULT,
      prefix: 'RECONCILE_',
    }),
  }),

  ...group('Keeping', {
    keep: {
      pagesMs: setting('KEEP_PAGES', {
        help: 'How long raw pages are kept. Without it: for ever. A project may say otherwise.',
        schema: duration(LONGEST_KEEP),
        example: '180d',
      }),
      historyMs: setting('KEEP_HISTORY', {
        help: 'The same for the history, by whole months.',
        schema: duration(LONGEST_KEEP, SHORTEST_KEEP),
        example: '800d',
      }),
      moneyMs: setting('KEEP_MONEY', {
        help: 'The same for single charges; the totals by day stay, and no project says otherwise.',
        schema: duration(LONGEST_KEEP, SHORTEST_KEEP),
        example: '800d',
      }),
    },
    oldMonthsTablespace: setting('OLD_MONTHS_TABLESPACE', {
      help: 'A tablespace to which months that ended 92 days ago are moved. Without it they stay.',
      schema: rule('must be the name of a tablespace, of 63 bytes at most', (text) =>
        Buffer.byteLength(text) <= 63 ? text : null,
      ),
      example: 'slow',
    }),
  }),

  ...group('Folder of the embedded database and the sandbox', {
    home: setting('STORERANK_HOME', {
      help: 'The folder, which is made when it is needed.',
      schema: path(),
      default: '.storerank',
      prefix: 'STORERANK_',
    }),
  }),
}

/** The values of all settings, before what spans several of them. */
export type SettingValues = Values<typeof SETTINGS>

export const ALL_SETTINGS = listSettings(SETTINGS)
export const SETTING_NAMES = ALL_SETTINGS.map(({ name }) => name)
