#!/usr/bin/env node
// The command `counterfoil`.
import { runCli } from './program.ts'

await runCli(process.argv)
