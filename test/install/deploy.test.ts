/**
 * What installs storerank (Dockerfile, compose.yaml, deploy/) names only what is there: commands, settings,
 * files, services, secrets.
 */
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import process from 'node:process'
import { describe, test } from 'node:test'
import { parse, parseAllDocuments } from 'yaml'
import packageJson from '../../package.json' with { type: 'json' }
import { SETTING_NAMES } from '../../src/settings.ts'
import { readDashboards } from '../grafana/panels.ts'

const PROJECT = join(import.meta.dirname, '../..')
const read = (file: string) => readFileSync(join(PROJECT, file), 'utf8')
const COMMANDS = read('docs/operations.md')
/** The settings, and what the image has beside them. */
const KNOWN: readonly string[] = [...SETTING_NAMES, 'NODE_ENV']

/** biome-ignore lint/suspicious/noExplicitAny: whatever a file of another program holds */
type Yaml = any

function assertCommand(args: readonly string[], where: string): void {
  assert.match(COMMANDS, new RegExp(`^\\| [^|]*\`${args[0]}[ \`\\]]`, 'm'), `${where}: ${args.join(' ')}`)
}

function assertSettings(names: readonly string[], where: string): void {
  const unknown = names.filter((name) => !KNOWN.includes(name))
  assert.deepEqual(unknown, [], where)
}

describe('Dockerfile', () => {
  const DOCKERFILE = read('Dockerfile').replaceAll(/\\\n\s*/g, '')

  test('has a health check that asks where OPERATIONS_LISTEN says', async (t) => {
    const [program, ...check]: string[] = JSON.parse(
      /^HEALTHCHECK .* CMD (\[.*\])$/m.exec(DOCKERFILE)?.[1] ?? '',
    )
    assert.equal(program, 'node')
    const asked: (string | undefined)[] = []
    const server = createServer(({ url }, response) => {
      asked.push(url)
      response.writeHead(asked.length > 2 ? 503 : 200).end()
    })
    server.listen(0, '0.0.0.0')
    await once(server, 'listening')
    t.after(() => server.close())
    const { port } = server.address() as AddressInfo
    const codes: unknown[] = []
    for (const OPERATIONS_LISTEN of [`${port}`, `0.0.0.0:${port}`, `127.0.0.1:${port}`, '127.0.0.1:9']) {
      const [code] = await once(spawn(process.execPath, check, { env: { OPERATIONS_LISTEN } }), 'exit')
      codes.push(code)
    }
    assert.deepEqual(codes, [0, 0, 1, 1])
    assert.deepEqual(asked, ['/healthz', '/healthz', '/healthz'])
  })

  test('is told version and revision by each way of building it', () => {
    const args = [...DOCKERFILE.matchAll(/^ARG (\w+)=/gm)].map(([, name = '']) => name)
    assert.deepEqual(args, ['VERSION', 'REVISION'])
    const { build }: Yaml = parse(read('compose.yaml'))['x-storerank']
    assert.deepEqual(Object.keys(build.args), args)
    const [line = ''] = /^docker build (?:.*\\\n)*.*$/m.exec(read('docs/operations.md')) ?? []
    for (const name of args) assert.match(line, new RegExp(` --build-arg ${name}="`))
  })
})

describe('compose.yaml', () => {
  const compose: Yaml = parse(read('compose.yaml'), { merge: true })
  const services: [string, Yaml][] = Object.entries(compose.services)

  test('waits only for services that are there, and for health only where there is a check of it', () => {
    for (const [name, { depends_on: awaited = {} }] of services)
      for (const [other, { condition }] of Object.entries<Yaml>(awaited)) {
        assert.ok(compose.services[other], `${name} waits for ${other}`)
        if (condition === 'service_healthy') assert.ok(compose.services[other].healthcheck?.test)
        if (condition === 'service_completed_successfully')
          assert.equal(compose.services[other].restart, 'no')
        const profiles: string[] = compose.services[other].profiles ?? []
        assert.ok(profiles.every((profile) => compose.services[name].profiles?.includes(profile)))
      }
  })

  // The official image sets a new database up with a server on the socket alone, which is stopped before the
  // real one starts.
  test('asks for the health of the database by TCP', () => {
    assert.match(compose.services.database.healthcheck.test.join(' '), /pg_isready --host 127\.0\.0\.1 /)
  })

  test(
    'keeps the sandbox and the pages of a read-only container in a volume whose owner is that of the ' +
      'image',
    () => {
      const { environment, volumes, read_only } = compose.services.storerank
      assert.equal(read_only, true)
      assert.ok(volumes.includes(`home:${environment.STORERANK_HOME}`))
      assert.match(
        read('Dockerfile'),
        new RegExp(`install --directory --owner=node [^\\n]*${environment.STORERANK_HOME}$`, 'm'),
      )
    },
  )

  test('starts commands that there are, with settings that there are', () => {
    const ours = services.filter(([, { image }]) => image === 'storerank')
    assert.deepEqual(ours.map(([name]) => name).sort(), ['migrate', 'storerank'])
    for (const [name, { command, environment }] of ours) {
      assertCommand(command, name)
      const foreign = Object.keys(environment).filter((key) => environment[key] === '')
      assertSettings(
        Object.keys(environment).filter((key) => !foreign.includes(key)),
        name,
      )
      // All of .env reaches it: the secrets of the other services do not.
      const named = [...read('compose.yaml').matchAll(/\$\{(\w+_PASSWORD)/g)].map(([, key = '']) => key)
      assert.deepEqual([...new Set(named)].sort(), foreign.sort())
    }
  })

  test('keeps logs and memory within bounds, and gives queries in parallel their shared memory', () => {
    for (const [name, { logging, mem_limit }] of services) {
      assert.ok(logging.options['max-size'] && logging.options['max-file'], name)
      assert.match(mem_limit, /^\d+[mg]$/, name)
    }
    assert.equal(compose.services.database.shm_size, '256m')
  })

  test('mounts volumes that are declared and files that there are', () => {
    for (const [name, { volumes = [] }] of services)
      for (const volume of volumes) {
        const [from = ''] = String(volume).split(':')
        if (from.startsWith('./')) assert.ok(existsSync(join(PROJECT, from)), `${name}: ${from}`)
        else assert.ok(from in compose.volumes, `${name}: ${from}`)
      }
  })

  test('asks for no variable without a word on it, and opens no port beyond loopback', () => {
    for (const [whole, name] of read('compose.yaml').matchAll(/\$\{(\w+)[^}]*\}/g))
      assert.match(whole, new RegExp(`\\{${name}:[?-]`))
    for (const [, { ports = [] }] of services) for (const port of ports) assert.match(port, /^127\.0\.0\.1:/)
  })

  test('gives Grafana all that the provisioning of the data source and of the dashboards reads', () => {
    const { environment, volumes } = compose.services.grafana
    const source = read('grafana/provisioning/datasources/storerank.yaml')
    const asked = [...source.matchAll(/\$(\w+)/g)].map(([, name = '']) => name)
    assert.ok(asked.length > 3)
    assert.deepEqual(
      asked.filter((name) => environment[name] === undefined),
      [],
    )
    const { providers }: Yaml = parse(read('grafana/provisioning/dashboards/storerank.yaml'))
    const folder = providers[0].options.path
    assert.ok(volumes.includes(`./grafana/dashboards:${folder}:ro`))
    const home = environment.GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH
    assert.ok([...readDashboards().keys()].some((name) => home === `${folder}/${name}.json`))
  })
})

describe('deploy/kubernetes', () => {
  const documents: Yaml[] = globSync('deploy/kubernetes/*.yaml', { cwd: PROJECT }).flatMap((file) =>
    parseAllDocuments(read(file), { merge: true }).map((document) => document.toJS()),
  )
  const settings = documents.find(({ kind }) => kind === 'ConfigMap')
  const pods: [string, Yaml][] = documents.flatMap(({ kind, metadata, spec }) => {
    const template = kind === 'CronJob' ? spec.jobTemplate.spec.template : spec?.template
    return template === undefined ? [] : [[metadata.name, template]]
  })
  const containers = ({ spec }: Yaml): Yaml[] => [...(spec.initContainers ?? []), ...spec.containers]

  test('runs commands that there are, with settings that there are, in pods that may do nothing else', () => {
    assert.equal(pods.length, 2)
    assertSettings(Object.keys(settings.data), 'ConfigMap')
    for (const [name, pod] of pods) {
      assert.equal(pod.spec.securityContext.runAsNonRoot, true)
      for (const { args, env, envFrom, securityContext } of containers(pod)) {
        assertCommand(args, name)
        assertSettings(
          env.map((each: Yaml) => each.name),
          name,
        )
        assert.deepEqual(envFrom, [{ configMapRef: { name: settings.metadata.name } }])
        assert.equal(securityContext.readOnlyRootFilesystem, true)
        assert.equal(securityContext.allowPrivilegeEscalation, false)
      }
    }
  })

  test(
    'runs migrate before anything else, from an image with a registry and the tag of this version that ' +
      'is to be replaced',
    () => {
      for (const [name, pod] of pods) {
        assert.deepEqual(
          pod.spec.initContainers?.map(({ args }: Yaml) => args),
          [['migrate']],
          name,
        )
        for (const { image } of containers(pod))
          assert.equal(image, `registry.example.com/storerank:${packageJson.version}`, name)
      }
      for (const file of globSync('deploy/kubernetes/*.yaml', { cwd: PROJECT }))
        assert.match(read(file), /^# Replace `image` before you apply this/m, file)
      assert.match(read('docs/operations.md'), /^- \*\*Kubernetes\*\*:.*?Replace `image`/ms)
    },
  )

  test('mounts volumes that its pods have, the password where the setting looks for it', () => {
    for (const [name, pod] of pods) {
      const volumes = new Map(pod.spec.volumes.map((volume: Yaml) => [volume.name, volume]))
      for (const { volumeMounts } of containers(pod)) {
        for (const mount of volumeMounts) assert.ok(volumes.has(mount.name), `${name}: ${mount.name}`)
        const password = volumeMounts.find((mount: Yaml) => mount.name === 'password')
        const [item] = (volumes.get('password') as Yaml).secret.items
        assert.equal(`${password.mountPath}/${item.path}`, settings.data.APP_DATA_PASSWORD_FILE)
      }
    }
  })

  test('probes ports that are open, and wakes no second run beside the first', () => {
    const service = documents.find(({ kind }) => kind === 'Deployment')
    const { template, selector } = service.spec
    assert.deepEqual(selector.matchLabels, template.metadata.labels)
    for (const { ports, startupProbe, readinessProbe, livenessProbe } of template.spec.containers) {
      assert.deepEqual(
        [startupProbe, readinessProbe, livenessProbe].map(({ httpGet }) => `${httpGet.port} ${httpGet.path}`),
        ['operations /readyz', 'operations /readyz', 'operations /healthz'],
      )
      const [{ containerPort, name }] = ports
      assert.equal(name, 'operations')
      assert.ok(settings.data.OPERATIONS_LISTEN.endsWith(`:${containerPort}`))
    }
    const job = documents.find(({ kind }) => kind === 'CronJob')
    assert.equal(job.spec.concurrencyPolicy, 'Forbid')
  })
})

describe('deploy/systemd', () => {
  const units = globSync('deploy/systemd/*', { cwd: PROJECT }).sort()

  test('starts commands that there are, with settings that there are', () => {
    const started = units.flatMap((unit) => [...read(unit).matchAll(/^ExecStart=(.*)$/gm)])
    assert.equal(started.length, 2)
    for (const [whole, line = ''] of started) {
      const [node, file = '', ...args] = line.split(' ')
      assert.equal(node, '/usr/bin/node')
      assert.ok(existsSync(join(PROJECT, file.replace('/opt/storerank/', ''))), whole)
      assertCommand(args, whole)
    }
    for (const unit of units)
      for (const [, line = ''] of read(unit).matchAll(/^Environment=(.*)$/gm))
        assertSettings(
          line.split(' ').map((each) => each.split('=')[0] ?? ''),
          unit,
        )
  })

  test('has one name in the journal, and no process that hangs for ever', () => {
    for (const unit of units.filter((each) => each.endsWith('.service'))) {
      assert.match(read(unit), /^SyslogIdentifier=storerank$/m)
      assert.match(
        read(unit),
        /^(WatchdogSec=\d+\nWatchdogSignal=SIGKILL\nNotifyAccess=all|TimeoutStartSec=2h)$/m,
      )
    }
  })

  test('is taken by systemd, where there is one', (t) => {
    const verify = (unit: string) =>
      spawnSync('systemd-analyze', ['verify', join(PROJECT, unit)], { encoding: 'utf8' })
    if (verify(units[0] ?? '').error !== undefined) return t.skip('no systemd-analyze')
    for (const unit of units) {
      const { status, stderr } = verify(unit)
      // Where the programs are is a matter of the machine.
      const said = stderr.split('\n').filter((line) => line !== '' && !/is not executable/.test(line))
      assert.deepEqual([unit, said], [unit, []])
      assert.ok(status === 0 || stderr.includes('is not executable'), unit)
    }
  })
})
