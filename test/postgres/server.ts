// The types of server.mjs, which plain programs use as well.
export type { PostgresServer } from './server.mjs'
export { startPostgres } from './server.mjs'
