// Restate: its server from npm, one for each store, and a service that it calls over loopback.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { createServer } from 'node:http2'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { freePort } from '../../../test/postgres/server.mjs'
import { diskBytes } from '../disk.mjs'
import { peer } from '../peer.mjs'
import { drive } from '../workload.mjs'

const at = (/** @type {number} */ port) => `127.0.0.1:${port}`

function binary() {
  const name = `@restatedev/restate-server-${process.platform}-${process.arch}/package.json`
  return join(dirname(createRequire(import.meta.url).resolve(name)), 'bin', 'restate-server')
}

/** @param {string} url */
const answers = (url) =>
  fetch(url).then(
    (response) => response.ok,
    () => false,
  )

/**
 * @param {string} base
 * @param {Record<'node' | 'ingress' | 'admin', number>} ports
 */
function startServer(base, { node, ingress, admin }) {
  const args = ['--no-logo', '--listen-mode', 'tcp', '--base-dir', base, '--node-name', 'n1']
  const env = {
    ...process.env,
    DO_NOT_TRACK: '1',
    RESTATE_DISABLE_TELEMETRY: 'true',
    RESTATE_LOG_FILTER: 'warn',
    RESTATE_LOG_DISABLE_ANSI_CODES: 'true',
    RESTATE_BIND_IP: '127.0.0.1',
    RESTATE_ADVERTISED_HOST: '127.0.0.1',
    RESTATE_BIND_PORT: String(node),
    RESTATE_BIND_ADDRESS: at(node),
    RESTATE_ADVERTISED_ADDRESS: `http://${at(node)}/`,
    RESTATE_INGRESS__BIND_ADDRESS: at(ingress),
    RESTATE_INGRESS__BIND_PORT: String(ingress),
    RESTATE_ADMIN__BIND_ADDRESS: at(admin),
    RESTATE_ADMIN__BIND_PORT: String(admin),
  }
  return spawn(binary(), args, { env, stdio: ['ignore', 'pipe', 'pipe'] })
}

/** @type {import('../harness.mjs').System['createStore']} */
async function createStore({ dir }) {
  const base = join(dir, 'restate')
  mkdirSync(base, { recursive: true })
  const [node, ingress, admin, port] = [
    await freePort(),
    await freePort(),
    await freePort(),
    await freePort(),
  ]
  const server = startServer(base, { node, ingress, admin })
  let log = ''
  for (const stream of [server.stdout, server.stderr]) {
    stream.on('data', (chunk) => {
      log += chunk
    })
  }
  const kill = () => server.kill('SIGKILL')
  process.once('exit', kill)
  const healthy = async () =>
    (await answers(`http://${at(admin)}/health`)) &&
    (await answers(`http://${at(ingress)}/restate/health`))
  for (let tries = 0; !(await healthy()); tries++) {
    if (tries > 300 || server.exitCode !== null) throw new Error(`no Restate: ${log.slice(-600)}`)
    await pause(100)
  }
  return {
    env: { ingress: `http://${at(ingress)}`, admin: `http://${at(admin)}`, port },
    bytes: async () => diskBytes(base, true), // RocksDB allocates its logs ahead.
    operatorLog: () => log,
    async close() {
      process.off('exit', kill)
      const exit = once(server, 'exit')
      server.kill('SIGTERM')
      const timer = setTimeout(kill, 5_000)
      await exit
      clearTimeout(timer)
    },
  }
}

/**
 * @param {{ admin: string }} env
 * @param {string} path
 * @param {object} body
 * @returns {Promise<any>}
 */
async function ask({ admin }, path, body) {
  const headers = { 'content-type': 'application/json', accept: 'application/json' }
  const init = { method: 'POST', headers, body: JSON.stringify(body) }
  const response = await fetch(`${admin}${path}`, init)
  if (!response.ok) throw new Error(`Restate, ${path}: ${await response.text()}`)
  return response.json()
}

/** @type {Record<string, import('../harness.mjs').System>} */
export const systems = {
  restate: {
    about: 'Restate, its server as it comes, each step a ctx.run over loopback HTTP/2',
    floor: 'sqlite',
    durable: true,
    packages: ['@restatedev/restate-server', '@restatedev/restate-sdk'],
    node: '22',
    once: "retryPolicy: { maxAttempts: 1, onMaxAttempts: 'pause' }",
    createStore,
    async open(env, work) {
      const restate = await peer('@restatedev/restate-sdk')
      const clients = await peer('@restatedev/restate-sdk-clients')
      const bench = restate.workflow({
        name: 'bench',
        handlers: {
          run: (/** @type {any} */ ctx, /** @type {string} */ id) =>
            drive(work, id, (name, run) => ctx.run(name, run)),
        },
        ...(env.once
          ? { options: { retryPolicy: { maxAttempts: 1, onMaxAttempts: 'pause' } } }
          : {}),
      })
      const http = createServer(restate.createEndpointHandler({ services: [bench] }))
      // Documented: Restate calls again until the service is back.
      http.listen(env.port, '127.0.0.1')
      await once(http, 'listening')
      const client = (/** @type {string} */ id) =>
        clients.connect({ url: env.ingress }).workflowClient({ name: 'bench' }, id)
      return {
        async start(ids) {
          await ask(env, '/deployments', { uri: `http://${at(env.port)}`, force: true })
          const one = async (/** @type {string} */ id) => {
            await client(id).workflowSubmit(id)
            await client(id).workflowAttach()
          }
          await Promise.all(ids.map(one))
        },
        resume: (ids) => Promise.all(ids.map((id) => client(id).workflowAttach())).then(() => {}),
        look: (ids) => Promise.all(ids.map((id) => endOf(env, id))),
        close: () => http.close(),
      }
    },
  },
}

/**
 * @param {{ admin: string }} env
 * @param {string} id
 */
async function endOf(env, id) {
  const query = `select status from sys_invocation where target_service_key = '${id}'`
  for (let tries = 0; ; tries++) {
    const { rows } = await ask(env, '/query', { query })
    const status = rows[0]?.status
    if (['paused', 'completed'].includes(status) || tries > 100) return String(status)
    await pause(100)
  }
}
