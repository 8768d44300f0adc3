// Whatever fast-check makes in this process is made from the seed of the case.
import fc from 'fast-check'

const seed = Number(process.env['COUNTERFOIL_FUZZ_SEED'])
if (!Number.isSafeInteger(seed)) throw new Error('COUNTERFOIL_FUZZ_SEED is not a seed')
fc.configureGlobal({ ...fc.readConfigureGlobal(), seed })
console.log(`fast-check seed ${fc.readConfigureGlobal().seed}`)
