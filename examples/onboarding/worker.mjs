// A process that works until it is killed.
import { open } from 'counterfoil'
import { onboarding } from './agent.mjs'

process.on('disconnect', () => process.exit(0))
const cf = await open({ store: process.argv[2] ?? 'sqlite:runs.db', graphs: [onboarding] })
await cf.worker().start()
