// What the result of a call must fit, of a person's as well as of its own: what does not fit is
// never on record as its result, where every replay would stumble over it.
import type { SerializerProtocol } from '@langchain/langgraph-checkpoint'
import type { Schema } from '../../../model/tool/schema.ts'
import { fromPlain } from './values.ts'

/** By a function that says what is wrong. */
export function fitting(misfit: (result: unknown) => string | null): Schema {
  const validate = (value: unknown) => {
    const message = misfit(value)
    return message === null ? { value } : { issues: [{ message }] }
  }
  return { '~standard': { version: 1, vendor: 'counterfoil', validate } }
}

/** The same for a value as the ledger keeps it. */
export function revived(schema: Schema, serde: SerializerProtocol): Schema {
  const validate = async (plain: unknown) => {
    const { issues } = await schema['~standard'].validate(await fromPlain(serde, plain))
    return issues ? { issues } : { value: plain }
  }
  return { '~standard': { version: 1, vendor: 'counterfoil', validate } }
}
