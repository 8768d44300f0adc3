import { expect, test } from 'vitest'
import { open } from '../../src/index.ts'
import { createToken, listTokens } from '../../src/server/auth/tokens.ts'

test.each(['counterfoil', 'hook:slackbot', 'ana\u202e', 'a\u200bna', ' '])(
  'M2 no token is named %j: a decision must show who made it',
  async (name) => {
    const { store, close } = await open({ store: 'memory:', onWarning: () => {} })
    const about = { name, role: 'operator', namespace: 'default', by: 'test' } as const
    await expect(createToken(store, about)).rejects.toMatchObject({ code: 'TOKEN_INVALID' })
    expect(await listTokens(store, '*')).toEqual([])
    await close()
  },
)
