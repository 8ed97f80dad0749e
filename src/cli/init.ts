/** `storerank init`: writes a commented file of the settings, to be filled in. */
import { writeFile } from 'node:fs/promises'
import { ConfigurationError } from '../errors.ts'
import type { CommandContext, CommandOptions } from './command.ts'

/** Only its owner reads it: there will be a password in it. */
const MODE = 0o600

export async function run({ file }: CommandOptions['init'], { stdout }: CommandContext): Promise<number> {
  try {
    await writeFile(file, TEMPLATE, { flag: 'wx', mode: MODE })
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    const reason = code === 'EEXIST' ? 'it is there already, and nothing was changed' : message
    throw new ConfigurationError(`${file} was not written: ${reason}.`, { cause: error })
  }
  stdout.write(
    `${file} has every setting with its meaning, and none is set: with no settings storerank uses an embedded database and the sandbox. ` +
      'Fill in what is yours, then: storerank migrate && storerank plan\n',
  )
  return 0
}

/** Every setting, in the order in which a person meets them; commented out with its default or an example. */
export const TEMPLATE = `# Settings of storerank. Read where it stands in the working folder, or with --settings; the environment wins.
# A line without # counts. Keep the file to yourself: chmod 600 .env

# --- Database ---------------------------------------------------------------------------------------------------------
# PostgreSQL 15 or later, in UTF8, for storerank alone. Without it: an embedded one in STORERANK_HOME.
#DATABASE_URL=postgres://storerank:password@db.example.com/storerank?sslmode=verify-full

# --- App Data Service -------------------------------------------------------------------------------------------------
# The App Data API of DataForSEO, which DataForApps sells too. A keyword costs $0.0012 for each 100 results (Android: 30).
# Without these: the sandbox, whose apps, ranks and money are invented.
#APP_DATA_URL=https://api.dataforseo.com
#APP_DATA_LOGIN=you@example.com
# The password, or better a file that holds nothing else.
#APP_DATA_PASSWORD_FILE=/run/secrets/app-data
#APP_DATA_PASSWORD=
# What the paths of the service call the two stores, where it has another address than DataForSEO or DataForApps gave it.
#APP_DATA_STORES=apple,google

# --- Money, in dollars, over all projects -----------------------------------------------------------------------------
#MAX_USD_PER_DAY=5
#MAX_USD_PER_MONTH=100
# What one plan may reserve.
#MAX_USD_PER_RUN=1

# --- Watching it ------------------------------------------------------------------------------------------------------
# Where start answers /healthz, /readyz and /metrics; a port alone is on loopback.
#OPERATIONS_LISTEN=9090
# Called after each successful run, and each minute by a start that is well.
#HEARTBEAT_URL=https://beats.example.com/your-id
# trace, debug, info, warn, error, fatal or silent.
#LOG_LEVEL=info

# --- Alerts (docs/alerts.md) -------------------------------------------------------------------------------------------
# The mail server for channels of kind email, and the sender.
#SMTP_URL=smtps://login:password@mail.example.com
#SMTP_FROM=ranks@example.com
# Hosts of private networks to which webhooks may be sent.
#PRIVATE_ALERT_HOSTS=chat.internal
# Secrets that channels name: variables of yours that begin with ALERT_.

# --- Reports ----------------------------------------------------------------------------------------------------------
# A folder for the pages of all projects; a title before the project's name; a picture beside it.
#REPORT_DIR=/var/www/ranks
#REPORT_TITLE=Acme
#REPORT_LOGO=/etc/storerank/logo.svg

# --- Results that the service delivers (above about a thousand tasks a minute) ----------------------------------------
# https, ending in a secret of 24 letters and digits or more: openssl rand -hex 24
#POSTBACK_URL=https://ranks.example.com/hooks/secret

# --- Pace and patience: the defaults are right for nearly everybody ---------------------------------------------------
#CALLS_PER_MINUTE=2000
#MAX_CONCURRENT_REQUESTS=30
#MAX_ATTEMPTS=3
#OVERDUE_AFTER=45m
#RECONCILE_QUIET=20m

# --- Keeping ----------------------------------------------------------------------------------------------------------
# How long raw pages, the history (by whole months) and single charges (the totals by day stay) are kept. Without them: for ever.
#KEEP_PAGES=180d
#KEEP_HISTORY=800d
#KEEP_MONEY=800d
# A tablespace to which months that ended 92 days ago are moved.
#OLD_MONTHS_TABLESPACE=slow

# --- Folder of the embedded database and the sandbox ------------------------------------------------------------------
#STORERANK_HOME=.storerank
`
