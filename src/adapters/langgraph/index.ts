// The public names of `counterfoil/langgraph`, nothing else.
export { CounterfoilSaver, type CounterfoilSaverOptions } from './saver.ts'
export type { Pruned } from './saver-prune.ts'
