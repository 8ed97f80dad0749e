/** Names of settings that are misspelt. */
import type { Environment } from './env-file.ts'
import { ALL_SETTINGS, SETTING_NAMES } from './settings.ts'
import { didYouMean, suggest } from './suggest.ts'

/** Where other programs read a setting so, it is known in small letters too. */
const KNOWN = new Set(
  ALL_SETTINGS.flatMap(({ name, isCommon }) => [name, isCommon ? name.toLowerCase() : name]),
)
const OUR_PREFIXES = ALL_SETTINGS.flatMap(({ prefix }) => prefix ?? [])
/** Kubernetes gives a pod such variables for each service of its namespace, also one named storerank. */
const KUBERNETES_LINK = /_(SERVICE_(HOST|PORT(_\w+)?)|PORT(_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)$/
/** What else a settings file may have: secrets of alerts, and what compose.yaml reads. */
const KNOWN_IN_FILE =
  /^(ALERT_[A-Z0-9_]+|POSTGRES_PASSWORD|GRAFANA_(DATABASE|ADMIN)_PASSWORD|VERSION|REVISION)$/
/** Names of this length and more are not within two letters of another program's variable by accident. */
const UNMISTAKABLE_LENGTH = 13
/** Near misses of ours that other programs know. */
const SETTINGS_OF_OTHERS = ['LOGLEVEL', 'LOG_LEVELS']

/**
 * Looks for misspelt settings among all variables. Conservative, since most of them belong to other programs:
 * our prefixes and near misses of our longest names are problems, near misses of a shorter name that is not
 * set are notes. In a settings file each near miss is a problem, and each name that says nothing to storerank
 * is noted.
 * @returns what is most likely meant by the notes
 */
export function checkNames(
  env: NodeJS.ProcessEnv,
  { file, names }: Pick<Environment, 'file' | 'names'>,
  { problems, notes }: { readonly problems: string[]; readonly notes: string[] },
): string[] {
  const misspelt: string[] = []
  for (const name of Object.keys(env)) {
    if (KNOWN.has(name) || env[name] === '' || KUBERNETES_LINK.test(name)) continue
    const upper = name.toUpperCase()
    const near = suggest(upper, SETTING_NAMES, 2)
    const isNear = near !== null && !env[near]?.trim()
    if (OUR_PREFIXES.some((prefix) => upper.startsWith(prefix))) {
      problems.push(`${name} is not a setting of storerank.${didYouMean(upper, SETTING_NAMES)}`)
    } else if (isNear && (near.length >= UNMISTAKABLE_LENGTH || names.includes(name))) {
      problems.push(`${name} is not a setting of storerank. Did you mean ${near}?`)
    } else if (isNear && !SETTINGS_OF_OTHERS.includes(name)) {
      notes.push(`${name} is not a setting of storerank and has no effect. Did you mean ${near}?`)
      misspelt.push(near)
    }
  }
  const unknown = names.filter((name) => !KNOWN.has(name) && !KNOWN_IN_FILE.test(name))
  if (unknown.length > 0)
    notes.push(`${unknown.join(', ')} in ${file}: no setting of storerank, and without effect on it.`)
  return misspelt
}
