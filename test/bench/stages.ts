/**
 * What processes on one database gain, in stages that take turns. Service and database share two cores with
 * them, and one process leaves a fifth of these. So what a core and a process more are worth is measured
 * against one process with one core for all three, and what processes gain where the cores are not what ends
 * first, with a share of a core for each. Linux only.
 */
import type { Database } from '../../src/db/database.ts'
import type { Bar } from './bars.ts'
import { onFirstCores } from './cores.ts'
import { whileHeld, whileStopped } from './held.ts'
import { listServerPids } from './server-load.ts'

const CORES = 2

export interface Stage {
  readonly name: string
  readonly processes: number
  readonly cores: number
  /** Of a core, for each process. */
  readonly share: number
  readonly results: number
  /** Stages before it, by their names. */
  readonly against: readonly { readonly name: string; readonly atLeast?: number }[]
}

/**
 * What a stage got done: results a second, and CPU of its processes, of PostgreSQL and of the service for
 * each result.
 */
export interface Gain {
  readonly rate: number
  readonly nodeUs: number
  readonly serverUs: number
  readonly serviceUs: number
}

/** Of each stage, by its name. */
export type Round<Kind extends Gain = Gain> = ReadonlyMap<string, Kind>

/**
 * One process with one core for all; one, two and more with two cores; and the same with a share of a core
 * for each.
 * @param share of a core that is left for each process where they are held
 * @param results of a stage in which they are not
 */
export function planStages(most: number, share: number, results: number): readonly Stage[] {
  const free = { cores: CORES, share: 1, results }
  const alone = { ...free, name: '1 process, one core for all', processes: 1, cores: 1, results: results / 2 }
  const held = { cores: CORES, share, results: results / 2 }
  return [
    { ...alone, against: [] },
    // What a second one gains there is what the first leaves of the cores, which is no bar for it.
    ...double(most, free, '', (name, processes) =>
      processes === 2 ? [{ name: alone.name, atLeast: 1.5 }, { name }] : [{ name }],
    ),
    ...double(most, held, `, ${share} of a core each`, (name, processes) => [
      { name, atLeast: processes === 2 ? 1.5 : 1 },
    ]),
  ]
}

/** @param compare what so many processes are held against, by the name of the stage of half as many */
function double(
  most: number,
  kind: Pick<Stage, 'cores' | 'share' | 'results'>,
  suffix: string,
  compare: (half: string, processes: number) => Stage['against'],
): Stage[] {
  const nameOf = (processes: number) => `${processes} ${processes === 1 ? 'process' : 'processes'}${suffix}`
  const stages: Stage[] = []
  for (let processes = 1; processes <= most; processes *= 2) {
    const against = processes === 1 ? [] : compare(nameOf(processes / 2), processes)
    stages.push({ ...kind, name: nameOf(processes), processes, against })
  }
  return stages
}

/**
 * Does the work of a stage by its processes alone, on its cores. The others are stopped, so that all are
 * warm: a process that has just begun compiles for its first thousands of results, which would be counted as
 * the price of more processes.
 * @param pids of all processes, of which a stage has the first ones
 */
export function inStage<Result>(
  db: Database,
  servicePid: number,
  pids: readonly number[],
  { processes, cores, share }: Stage,
  measure: (hold: <Held>(work: () => Promise<Held>) => Promise<Held>) => Promise<Result>,
): Promise<Result> {
  const working = pids.slice(0, processes)
  const listPids = async () => [...working, servicePid, ...(await listServerPids(db))]
  return onFirstCores(listPids, cores, () =>
    whileStopped(pids.slice(processes), () => measure((work) => whileHeld(working, share, work))),
  )
}

/** The stages take turns, because cores are not as fast in one minute as in the next. */
export async function measureRounds<Kind extends Gain>(
  rounds: number,
  stages: readonly Stage[],
  measure: (stage: Stage) => Promise<Kind>,
): Promise<Round<Kind>[]> {
  const all: Round<Kind>[] = []
  while (all.length < rounds) {
    const round = new Map<string, Kind>()
    for (const stage of stages) round.set(stage.name, await measure(stage))
    all.push(round)
  }
  return all
}

/** The median of what the rounds say of a stage. */
export function medianOf<Kind extends Gain>(
  rounds: readonly Round<Kind>[],
  name: string,
  read: (gain: Kind, round: Round<Kind>) => number,
): number {
  const values = rounds.flatMap((round) => {
    const gain = round.get(name)
    return gain === undefined ? [] : [read(gain, round)]
  })
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN
}

/** How fast a stage is, what it gains in its round, what its cores allow, and what a result costs. */
export function listGains({ name, cores, against }: Stage, rounds: readonly Round[]): Bar[] {
  const median = (read: (gain: Gain, round: Round) => number) => medianOf(rounds, name, read)
  const mostOf = ({ nodeUs, serverUs, serviceUs }: Gain) =>
    (cores * 1_000_000) / (nodeUs + serverUs + serviceUs)
  const gained = against.map(({ name: other, ...bar }) => ({
    what: `${name}, against ${other}`,
    value: median(({ rate }, round) => rate / (round.get(other)?.rate ?? Number.NaN)),
    unit: '×',
    ...bar,
  }))
  return [
    { what: `${name}: results a second`, value: median(({ rate }) => rate), unit: '/s' },
    ...gained,
    { what: `${name}: the most that its cores allow`, value: median(mostOf), unit: '/s' },
    { what: `${name}: CPU of Node a result`, value: median(({ nodeUs }) => nodeUs), unit: 'µs' },
    { what: `${name}: CPU of PostgreSQL a result`, value: median(({ serverUs }) => serverUs), unit: 'µs' },
    { what: `${name}: CPU of the service a result`, value: median(({ serviceUs }) => serviceUs), unit: 'µs' },
  ]
}
