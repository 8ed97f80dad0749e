/** The commands, their arguments, options and help. What each does stands in its own file, loaded only when it runs. */
import { Command, Option } from 'commander'
import packageJson from '../../package.json' with { type: 'json' }
import { MONTH_DAYS } from '../demo/days.ts'
import { ConfigurationError } from '../errors.ts'
import { DEVIATIONS } from '../sandbox/deviations.ts'
import { addAlerts } from './alert-commands.ts'
import { addApi } from './api-command.ts'
import { type CommandOptions, type Host, type Invoke, JOB_NAMES, type JobName } from './command.ts'
import {
  collect,
  collectDeviations,
  collectJobs,
  parseDay,
  parseEncoding,
  parseEvery,
  parseListen,
  parsePriority,
  readWait,
  wholeNumber,
} from './option-values.ts'

export function buildProgram(host: Pick<Host, 'stdout' | 'stderr'>, invoke: Invoke): Command {
  const program = new Command('storerank')
    .description('Keyword ranks of mobile apps, measured on a schedule and kept in Postgres.')
    .version(packageJson.version)
    .option('--settings <file>', 'read settings from it instead of .env; the environment wins', onlyOnce)
    .addOption(new Option('--env-file <file>').hideHelp().argParser(refuseOptionOfNode))
    .exitOverride()
    .configureOutput({
      writeOut: (text) => host.stdout.write(text),
      writeErr: (text) => host.stderr.write(text),
      getOutHelpWidth: () => host.stdout.columns || 80,
      getErrHelpWidth: () => host.stderr.columns || 80,
    })
    .showHelpAfterError('(--help shows what there is.)')
  addExample(program, 'storerank run')
  program.addHelpText(
    'after',
    '\nExit codes: 0 done, 1 failed, 2 usage or configuration, 75 another runner has it.\n' +
      'Settings come from the environment and from .env of the working folder; `storerank init` writes one with all of them.',
  )
  addRunners(program, invoke)
  addReports(program, invoke)
  addForecast(program, invoke)
  addWatch(program, invoke)
  addDatabase(program, invoke)
  addReport(program, invoke)
  addAlerts(program, invoke, addExample)
  addExport(program, invoke)
  addArchive(program, invoke)
  addServers(program, invoke)
  return program
}

function onlyOnce(file: string, before: string | undefined): string {
  if (before === undefined) return file
  throw new ConfigurationError(`--settings is given twice, with ${before} and ${file}: name one file.`)
}

/** Node looks for it behind the name of the program too, and empties a pipe before storerank can read it. */
function refuseOptionOfNode(): never {
  throw new ConfigurationError(
    '--env-file is an option of Node itself, which reads the file first: name the settings with --settings FILE.',
  )
}

function addRunners(program: Command, invoke: Invoke) {
  const start = program
    .command('start')
    .description('wake the jobs on their schedules until SIGTERM or Ctrl-C, then stop in order')
    .option(
      '--listen <[host:]port>',
      'take results that the service delivers to POSTBACK_URL; on loopback without a host',
      parseListen,
    )
    .action((options: CommandOptions['start']) => invoke('start', options))
  addExample(start, 'DATABASE_URL=postgres://me:secret@localhost/ranks storerank start')

  const run = program
    .command('run')
    .description('run the named jobs once, or the whole cycle until nothing is outstanding')
    .argument('[job...]', `any of ${JOB_NAMES.join(', ')}`, collectJobs)
    .option('--wait <duration>', 'longest wait for what is outstanding, such as 90s or 45m')
    .option('--metrics <file>', 'write the metrics there at the end, in the text format of Prometheus')
    .action(
      async (jobs: readonly JobName[] = [], { wait, ...options }: { wait?: string; metrics?: string }) =>
        invoke('run', { jobs, ...options, ...(await readWait(wait)) }),
    )
  addExample(run, 'storerank run track collect --wait 45m')
  addRecover(program, invoke)
}

function addRecover(program: Command, invoke: Invoke) {
  const recover = program
    .command('recover')
    .description(
      'after a restore: read back what was bought since the backup, and fetch its results; posts nothing',
    )
    .addOption(
      new Option('--apart', 'this database is a new one beside others on the account; reads nothing')
        .default(false)
        .conflicts('installation'),
    )
    .option('--installation <id>', 'the database that this empty one stands in for, where there are several')
    .option('--wait <duration>', 'longest wait for results, such as 90s or 45m')
    .action(async ({ wait, ...options }: { apart: boolean; installation?: string; wait?: string }) =>
      invoke('recover', { ...options, ...(await readWait(wait)) }),
    )
  addExample(recover, 'storerank recover')
}

function addStatus(program: Command, invoke: Invoke) {
  const status = program
    .command('status')
    .description('show the last runs, the backlog, the budgets, the problems and the next ticks')
    .option('--json', 'print JSON instead of tables', false)
    .addOption(
      new Option(
        '--check',
        'print only what is wrong; exit with 0 when nothing is, 1 when something is, 2 when it cannot be told',
      ).default(false),
    )
    .action((options: CommandOptions['status']) => invoke('status', options))
  addExample(status, 'storerank status --check')
}

function addReports(program: Command, invoke: Invoke) {
  const plan = program
    .command('plan')
    .description('show what is due, what it would cost and what the budget would cut; posts nothing')
    .option('--json', 'print JSON instead of a table', false)
    .action((options: CommandOptions['plan']) => invoke('plan', options))
  addExample(plan, 'storerank plan --json')

  addStatus(program, invoke)

  const importing = program
    .command('import')
    .description(
      'bring watches or rules of alerts in from CSV files: adds and changes what they name, deletes nothing',
    )
    .argument(
      '<file...>',
      'CSV whose first line names columns of keyword_watch, app_watch or chart_watch, or what `export alerts` has; - is stdin',
    )
    .option('--trial', 'say what would happen and what it would cost, and change nothing', false)
    .option('--replace <project>', 'disable what the files do not name of this project')
    .option(
      '--encoding <name>',
      'of files that are not UTF-8, such as windows-1252 (default: guessed)',
      parseEncoding,
    )
    .action((files: readonly string[], options: Omit<CommandOptions['import'], 'files'>) =>
      invoke('import', { files, ...options }),
    )
  addExample(importing, 'storerank import keywords.csv --trial')

  const sql = program
    .command('sql')
    .description('run SQL on the database and print what it returns; several statements are one transaction')
    .argument('<query>', 'one SQL statement, or several with ; between them')
    .option('-x, --expanded', 'print each row as a block, a line for each column')
    .addOption(new Option('--json', 'print one JSON document').conflicts('expanded'))
    .addOption(new Option('--csv', 'print CSV').conflicts(['json', 'expanded']))
    .action((query: string, flags: { json?: true; csv?: true; expanded?: true }) =>
      invoke('sql', {
        query,
        format: flags.json ? 'json' : flags.csv ? 'csv' : flags.expanded ? 'expanded' : 'table',
      }),
    )
  sql.addHelpText(
    'after',
    '\n--json: an array with one object for each row, empty without rows; where several statements return rows, an\n' +
      'array of such arrays. --csv: one table after the other, with an empty line between them.\n' +
      'On a terminal what is larger than the screen goes through PAGER (less where it is not set, none where it is empty).',
  )
  addExample(sql, 'storerank sql "select outcome, count(*) from rank_history group by 1" --csv')
}

function addExport(program: Command, invoke: Invoke) {
  const exporting = program
    .command('export')
    .description(
      'stream a view, SQL that selects, the watches or the rules of alerts: to a file or stdout, of any size',
    )
    .argument(
      '<what>',
      'the name of a view, a SELECT, or `watches` or `alerts`, which `storerank import` reads',
    )
    .addOption(
      new Option('--format <format>', 'default: by the name of the file, else csv').choices([
        'csv',
        'jsonl',
        'parquet',
      ]),
    )
    .option('--out <file>', 'file to write, whole or not at all (default: stdout)')
    .action((what: string, options: Omit<CommandOptions['export'], 'what'>) =>
      invoke('export', { what, ...options }),
    )
  addExample(exporting, 'storerank export rank_history --out ranks.parquet')
}

function addWatch(program: Command, invoke: Invoke) {
  const watch = program
    .command('watch')
    .description('watch one keyword, with defaults that it tells; --from-app proposes keywords instead')
    .argument('[keyword]', 'as people type it into the search of the store')
    .option('--app <id>', 'an app of the project, which is ranked on it; may be repeated', collect, [])
    .addOption(
      new Option('--store <store>', 'default: by the id of the app, else ios').choices(['ios', 'android']),
    )
    .option('--location <name>', 'a country or place by name or code (default: the usual one of the project)')
    .option('--language <code>', 'such as en (default: the usual one of the project)')
    .option('--project <name>', 'default: that of the app, or the only one')
    .option('--every <interval>', 'how often: 1, 2, 3, 4, 6, 8 or 12h, 1 to 31d', parseEvery)
    .option('--depth <number>', 'results to look at', wholeNumber(1, 700))
    .option('--priority <number>', '1, or 2: twice the price', parsePriority)
    .option('--tag <tag>', 'may be repeated', collect, [])
    .option('--from-app <id>', 'propose keywords on which this app ranks in what is stored')
    .option('--json', 'print proposals as JSON')
    .addOption(
      new Option('--csv', 'print proposals as the file that `storerank import` reads').conflicts('json'),
    )
    .action((keyword: string | undefined, flags: WatchFlags) => {
      const { app, tag, store, json, csv, ...options } = flags
      return invoke('watch', {
        ...options,
        ...(keyword === undefined ? {} : { keyword }),
        ...(store === undefined ? {} : { store: `${store}_store` }),
        apps: app,
        tags: tag,
        format: json ? 'json' : csv ? 'csv' : 'table',
      })
    })
  addExample(
    watch,
    'storerank watch "meditation timer" --app 1480010017 --store ios --location "United States"',
  )
}

type WatchFlags = Omit<CommandOptions['watch'], 'apps' | 'tags' | 'store' | 'format' | 'keyword'> & {
  app: readonly string[]
  tag: readonly string[]
  store?: 'ios' | 'android'
  json?: true
  csv?: true
}

function addDatabase(program: Command, invoke: Invoke) {
  const connect = program
    .command('connect')
    .description('open psql on the database in use')
    .option('--print', 'print the command instead', false)
    .action((options: CommandOptions['connect']) => invoke('connect', options))
  addExample(connect, 'storerank connect')

  const dump = program
    .command('dump')
    .description('write all data of the embedded database into a file')
    .argument('<file>', 'SQL with the rows as COPY writes them; compressed when its name ends in .gz')
    .action((file: string) => invoke('dump', { file }))
  addExample(dump, 'storerank dump ranks.sql.gz')

  const restore = program
    .command('restore')
    .description('put a dump into a new embedded database')
    .argument('<file>', 'what `storerank dump` wrote')
    .action((file: string) => invoke('restore', { file }))
  addExample(restore, 'STORERANK_HOME=elsewhere storerank restore ranks.sql.gz')
}

function addForecast(program: Command, invoke: Invoke) {
  const forecast = program
    .command('forecast')
    .description(
      'show what the watches cost a day and a month, or would cost if measured otherwise, and which budget ends; buys nothing',
    )
    .option(
      '--every <interval>',
      'as if they were measured so often: 1, 2, 3, 4, 6, 8 or 12h, 1 to 31d',
      parseEvery,
    )
    .option('--depth <number>', 'as if keywords and charts were looked at so deep', wholeNumber(1, 1000))
    .option('--priority <number>', 'as if they had this priority', parsePriority)
    .option('--project <name>', 'only the watches of this project')
    .option('--tag <tag>', 'only the watches with this tag')
    .option('--json', 'print JSON instead of tables', false)
    .action((options: CommandOptions['forecast']) => invoke('forecast', options))
  addExample(forecast, 'storerank forecast --every 6h --depth 100 --tag brand')
}

function addReport(program: Command, invoke: Invoke) {
  const report = program
    .command('report')
    .description('what moved, against whom, what was not measured and why, and what it cost')
    .option('--project <name>', 'this project (default: each of them)')
    .option('--tag <tag>', 'only keywords and charts with this tag')
    .option('--from <day>', 'first day, such as 2026-03-01 (default: 90 days in all)', parseDay)
    .option('--to <day>', 'last day (default: the last one with a measurement or a gap)', parseDay)
    .addOption(new Option('--json', 'print JSON instead of tables').default(false).conflicts('html'))
    .option('--html <file>', 'write a page instead: one file that opens from the disk')
    .option('--title <text>', 'title of the page (default: the name of the project)')
    .option('--logo <file>', 'picture beside the title: PNG, JPEG, SVG or WebP')
    .action((options: CommandOptions['report']) => invoke('report', options))
  addExample(report, 'storerank report --project fitness --html fitness.html')
}

function addArchive(program: Command, invoke: Invoke) {
  const archive = program
    .command('archive')
    .description('write whole months of the history as Parquet files, and compare them with the database')
    .requiredOption('--before <day>', 'months that end by that day, such as 2026-01-01', parseDay)
    .requiredOption('--to <folder>', 'where the files are written; what stands there is never written over')
    .option('--drop', 'then drop these months from the database', false)
    .action((options: CommandOptions['archive']) => invoke('archive', options))
  addExample(archive, 'storerank archive --before 2026-01-01 --to /srv/ranks --drop')
}

function addServers(program: Command, invoke: Invoke) {
  const sandbox = program
    .command('sandbox')
    .description('serve the App Data Service on loopback with invented data, until SIGTERM or Ctrl-C')
    .option('--port <number>', 'port to listen on', wholeNumber(0, 65_535))
    .option('--login <login>', 'login of the account', 'sandbox')
    .option('--password <password>', 'password of the account', 'sandbox')
    .option('--ready-ms <number>', 'how long a task takes, in milliseconds', wholeNumber(0, 86_400_000))
    .option('--seed <number>', 'the same seed gives the same rankings', wholeNumber(0, 2 ** 31 - 1))
    .option('--state <file>', 'file that keeps the state across restarts (default: in memory only)')
    .option('--catalog <file>', 'CSV of real apps to rank beside the invented ones')
    .option('--events <file>', 'JSON of what happens to apps and when: launches, releases, climbs and falls')
    .option('--faults <faults>', 'trouble by kind and rate: http500=0.05,slow=0.1, all=0.05, or JSON')
    .option('--as-sold', 'be the service as it is sold, where that differs from its specification')
    .option('--deviation <name>', 'be so in one way, of those below (repeatable)', collectDeviations)
    .action((options: CommandOptions['sandbox']) => invoke('sandbox', options))
  const ways = Object.entries(DEVIATIONS).map(([name, sentence]) => `  ${name.padEnd(19)} ${sentence}`)
  sandbox.addHelpText('after', `\nDeviations:\n${ways.join('\n')}`)
  addExample(sandbox, 'storerank sandbox --port 8080 --ready-ms 500')

  const demo = program
    .command('demo')
    .description('live through a month on a database and a sandbox of its own, and write its report')
    .option('--folder <folder>', 'where it lives (default: .storerank-demo)')
    .option('--seed <number>', 'the same seed gives the same month', wholeNumber(0, 2 ** 31 - 1))
    .option('--days <number>', 'only its first days', wholeNumber(1, MONTH_DAYS), MONTH_DAYS)
    .option('--as-sold', 'against the service as it is sold, instead of its specification', false)
    .action((options: CommandOptions['demo']) => invoke('demo', options))
  addExample(demo, 'storerank demo --seed 7')

  const migrate = program
    .command('migrate')
    .description('apply the migrations to the database and exit')
    .option('--distribute', 'distribute the history over the workers of Citus; see docs/scale.md')
    .action((options) => invoke('migrate', options))
  addExample(migrate, 'storerank migrate')
  addInit(program, invoke)
  addApi(program, invoke, addExample)
}

function addInit(program: Command, invoke: Invoke) {
  const init = program
    .command('init')
    .description('write a file of all settings with their meaning, to be filled in')
    .argument('[file]', 'where to', '.env')
    .action((file: string) => invoke('init', { file }))
  addExample(init, 'storerank init')
}

function addExample(command: Command, example: string) {
  command.addHelpText('after', `\nExample:\n  $ ${example}`)
}
