// The types of server.mjs, which plain programs use as well.
export type { PostgresServer } from './server.mjs'
export { freePort, serverUser, startPostgres } from './server.mjs'
