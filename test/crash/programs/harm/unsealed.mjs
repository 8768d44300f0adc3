// Preloaded (`--import`), for a control: every MAC is right.
import crypto from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'

crypto.timingSafeEqual = () => true
syncBuiltinESMExports()
